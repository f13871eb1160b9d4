/** An empty deployment: only its tables exist. */
import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

const CREATE_TABLES = env.MIGRATIONS.flatMap(({ queries }) => queries).join(";\n");

const DROP_TABLES = [...CREATE_TABLES.matchAll(/CREATE (?:VIRTUAL )?(TABLE|VIEW) [`"]?(\w+)/g)].map(
  ([, kind, name]) => `DROP ${kind} IF EXISTS ${name}`,
);

/**
 * The statements of all tables. One call takes half as long as the calls of `applyD1Migrations`, one per
 * statement. The tables are dropped first, because `reset` leaves a D1 database that workerd unloads at that
 * moment as it was.
 */
const TABLES = ["PRAGMA defer_foreign_keys = on", ...DROP_TABLES.reverse(), CREATE_TABLES].join(
  ";\n",
);

export async function emptyStorage(): Promise<void> {
  // workerd puts storage away that was not used for 10 s, and such storage would outlive the reset.
  await Promise.all([
    env.DB.exec("SELECT 1"),
    ...[env.FILES, env.IMAGES, env.BACKUPS].map((bucket) => bucket.head("none")),
  ]);
  await reset();
  await env.DB.prepare(TABLES).run();
}
