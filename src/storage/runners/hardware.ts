import { and, eq, inArray, isNotNull, isNull, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { hardware } from "../schema/index.ts";

export type HardwareRow = typeof hardware.$inferSelect;

export const findHardware = (db: Database, identifier: string) =>
  db.select().from(hardware).where(eq(hardware.identifier, identifier)).get();

export const findAllHardware = (db: Database, identifiers: string[]) =>
  db
    .select({ identifier: hardware.identifier, pool_made_at: hardware.pool_made_at })
    .from(hardware)
    .where(inArray(hardware.identifier, identifiers))
    .all();

/** By identifier. */
export function listHardware(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([hardware.identifier], "asc", keyset);
  return db
    .select()
    .from(hardware)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Updating keeps `created_at`, and when its pool was made unless that is given. */
export const saveHardware = (db: Database, { created_at, ...row }: typeof hardware.$inferInsert) =>
  db
    .insert(hardware)
    .values({ ...row, created_at })
    .onConflictDoUpdate({ target: hardware.identifier, set: row })
    .returning()
    .get();

/** Classes with a location whose pool is not made. */
export const listUnplacedHardware = (db: Database, limit: number) =>
  db
    .select()
    .from(hardware)
    .where(and(isNotNull(hardware.location_hint), isNull(hardware.pool_made_at)))
    .limit(limit)
    .all();

/** The first time counts. */
export const markPoolMade = (db: Database, identifier: string, now: number) =>
  db
    .update(hardware)
    .set({ pool_made_at: now })
    .where(and(eq(hardware.identifier, identifier), isNull(hardware.pool_made_at)));

/** Unless a model or a version uses it. @returns whether it was deleted */
export async function deleteHardware(db: Database, identifier: string): Promise<boolean> {
  const deleted = await db
    .delete(hardware)
    .where(
      and(
        eq(hardware.identifier, identifier),
        sql`NOT EXISTS (SELECT 1 FROM models WHERE hardware_identifier = ${identifier})`,
        sql`NOT EXISTS (SELECT 1 FROM versions
          WHERE configuration ->> 'hardware_identifier' = ${identifier})`,
      ),
    )
    .returning({ identifier: hardware.identifier });
  return deleted.length > 0;
}
