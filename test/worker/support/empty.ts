/** A deployment that has nothing but its tables. */
import { reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

/** Sent as one: statement by statement, as `applyD1Migrations` sends them, they take twice as long. */
const TABLES = env.MIGRATIONS.flatMap(({ queries }) => queries).join(";\n");

export async function emptyStorage(): Promise<void> {
  // What has not been asked for 10 s is put away, and would outlive the reset.
  await Promise.all([
    env.DB.exec("SELECT 1"),
    ...[env.FILES, env.IMAGES, env.BACKUPS].map((bucket) => bucket.head("none")),
  ]);
  await reset();
  await env.DB.prepare(TABLES).run();
}
