import { and, eq, inArray, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { hardware } from "../schema/index.ts";

export type HardwareRow = typeof hardware.$inferSelect;

export const findHardware = (db: Database, identifier: string) =>
  db.select().from(hardware).where(eq(hardware.identifier, identifier)).get();

export const findAllHardware = (db: Database, identifiers: string[]) =>
  db
    .select({ identifier: hardware.identifier })
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

/** Updating keeps `created_at`. */
export const saveHardware = (db: Database, { created_at, ...row }: HardwareRow) =>
  db
    .insert(hardware)
    .values({ ...row, created_at })
    .onConflictDoUpdate({ target: hardware.identifier, set: row })
    .returning()
    .get();

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
