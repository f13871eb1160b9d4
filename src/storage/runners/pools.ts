import { and, eq, isNotNull, isNull, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { pools } from "../schema/index.ts";

export type PoolRow = typeof pools.$inferSelect;

/** Finds pools by their names, also more than D1 takes parameters (100). */
export const findPools = (db: Database, names: string[]) =>
  db
    .select()
    .from(pools)
    .where(sql`${pools.name} IN (SELECT value FROM json_each(${JSON.stringify(names)}))`)
    .all();

/** Saves a pool. `made_at` stays once it is known. */
export const savePool = (db: Database, row: typeof pools.$inferInsert) =>
  db
    .insert(pools)
    .values(row)
    .onConflictDoUpdate({
      target: pools.name,
      set: {
        location_hint: sql`excluded.location_hint`,
        made_at: sql`coalesce(${pools.made_at}, excluded.made_at)`,
      },
    });

export const listUnmadePools = (db: Database, limit: number) =>
  db
    .select()
    .from(pools)
    .where(and(isNotNull(pools.location_hint), isNull(pools.made_at)))
    .limit(limit)
    .all();

/** Returns the names of pools whose objects exist. */
export async function listMadePools(db: Database, limit: number): Promise<string[]> {
  const rows = await db
    .select({ name: pools.name })
    .from(pools)
    .where(isNotNull(pools.made_at))
    .limit(limit)
    .all();
  return rows.map(({ name }) => name);
}

/** Notes when a pool was made; the first time counts. */
export const markPoolMade = (db: Database, name: string, now: number) =>
  db
    .update(pools)
    .set({ made_at: now })
    .where(and(eq(pools.name, name), isNull(pools.made_at)));
