/** A deployment that has nothing but its tables. */
import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

export async function emptyStorage(): Promise<void> {
  // What has not been asked for 10 s is put away, and would outlive the reset.
  await Promise.all([
    env.DB.exec("SELECT 1"),
    ...[env.FILES, env.IMAGES, env.BACKUPS].map((bucket) => bucket.head("none")),
  ]);
  await reset();
  await applyD1Migrations(env.DB, env.MIGRATIONS);
}
