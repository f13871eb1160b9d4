import { and, eq, getTableColumns, gt, inArray, ne, or, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { hardware, pools } from "../schema/index.ts";
import { savePool } from "./pools.ts";

const withPool = (db: Database) =>
  db
    .select({
      ...getTableColumns(hardware),
      location_hint: pools.location_hint,
      pool_made_at: pools.made_at,
    })
    .from(hardware)
    .innerJoin(pools, eq(pools.name, hardware.pool));

export const findHardware = (db: Database, identifier: string) =>
  withPool(db).where(eq(hardware.identifier, identifier)).get();

export type HardwareRow = NonNullable<Awaited<ReturnType<typeof findHardware>>>;

export const findAllHardware = (db: Database, identifiers: string[]) =>
  db
    .select({ identifier: hardware.identifier, pool: hardware.pool })
    .from(hardware)
    .where(inArray(hardware.identifier, identifiers))
    .all();

export async function isAnyPriced(db: Database): Promise<boolean> {
  const { identifier, price_per_hour } = hardware;
  const priced = db.select({ identifier }).from(hardware).where(gt(price_per_hour, 0)).limit(1);
  return (await priced.get()) !== undefined;
}

export function listHardware(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([hardware.identifier], "asc", keyset);
  return withPool(db)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .all();
}

/**
 * Finds a class that keeps this one from joining a pool, because the pool's name would mean two things: one
 * that is called like the pool and is in another, or one that is in a pool called like this one.
 */
export const findAmbiguous = (db: Database, identifier: string, pool: string) =>
  db
    .select({ identifier: hardware.identifier, pool: hardware.pool })
    .from(hardware)
    .where(
      and(
        ne(hardware.identifier, identifier),
        or(
          and(eq(hardware.identifier, pool), ne(hardware.pool, pool)),
          and(eq(hardware.pool, identifier), ne(hardware.pool, pool)),
        ),
      ),
    )
    .limit(1)
    .get();

/** Saves the class and its pool. Updating keeps `created_at`, and when the pool was made. */
export async function saveHardware(
  db: Database,
  { created_at, ...row }: typeof hardware.$inferInsert,
  pool: Omit<typeof pools.$inferInsert, "name">,
  entry: EntryRow,
): Promise<HardwareRow> {
  const [, , , [saved]] = await db.batch([
    savePool(db, { ...pool, name: row.pool }),
    db
      .insert(hardware)
      .values({ ...row, created_at })
      .onConflictDoUpdate({ target: hardware.identifier, set: row }),
    insertIfChanged(db, entry),
    withPool(db).where(eq(hardware.identifier, row.identifier)),
  ]);
  if (!saved) throw new Error(`hardware ${row.identifier} was not saved`);
  return saved;
}

/** Deletes a class unless a model, a version or a deployment uses it. @returns whether it was deleted */
export async function deleteHardware(
  db: Database,
  identifier: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(hardware)
    .where(
      and(
        eq(hardware.identifier, identifier),
        sql`NOT EXISTS (SELECT 1 FROM models WHERE hardware_identifier = ${identifier})`,
        sql`NOT EXISTS (SELECT 1 FROM versions
          WHERE configuration ->> 'hardware_identifier' = ${identifier})`,
        sql`NOT EXISTS (SELECT 1 FROM deployments
          JOIN releases ON deployment_id = deployments.id AND number IN (release, next_release)
          WHERE hardware_identifier = ${identifier})`,
      ),
    )
    .returning({ identifier: hardware.identifier });
  const deleted = await changeRecorded(db, deleting, entry);
  return deleted.length > 0;
}
