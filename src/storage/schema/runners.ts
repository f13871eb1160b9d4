/** Runners, their tokens, and the hardware they offer. */
import { sql } from "drizzle-orm";
import { index, integer, real, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";
import type { LocationHint } from "../../protocol/hardware.ts";

export const runnerTokens = sqliteTable(
  "runner_tokens",
  {
    id: text().primaryKey(),
    name: text().notNull(),
    hash: text().notNull().unique(),
    prefix: text().notNull(),
    hardware: text({ mode: "json" }).$type<string[]>().notNull(),
    created_at: integer().notNull(),
    last_used_at: integer(),
    revoked_at: integer(),
  },
  (t) => [index("runner_tokens_revoked").on(t.revoked_at).where(sql`revoked_at IS NOT NULL`)],
);

export const runners = sqliteTable(
  "runners",
  {
    id: text().primaryKey(),
    token_id: text()
      .notNull()
      .references(() => runnerTokens.id),
    name: text().notNull(),
    /** The classes that the runner serves, and their pool. */
    hardware: text({ mode: "json" }).$type<string[]>().notNull(),
    pool: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
  },
  (t) => [uniqueIndex("runners_token_name").on(t.token_id, t.name)],
);

/**
 * Queues, each with the classes whose jobs wait in it. A pool stays when its last class is deleted, as its
 * object does.
 */
export const pools = sqliteTable("pools", {
  name: text().primaryKey(),
  location_hint: text().$type<LocationHint>(),
  /** When the pool's object was made. The object stays in its place. */
  made_at: integer(),
});

export const hardware = sqliteTable("hardware", {
  identifier: text().primaryKey(),
  pool: text()
    .notNull()
    .references(() => pools.name),
  name: text().notNull(),
  gpus: integer().notNull(),
  cpus: integer().notNull(),
  ram_per_gpu_gb: real().notNull(),
  ram_gb: real().notNull(),
  /** Billionths of the currency unit. */
  price_per_hour: integer(),
  created_at: integer().notNull(),
});
