/** Before each file: an empty D1 of its own, with all tables, and no objects. */
import { applyD1Migrations, reset } from "cloudflare:test";
import { env } from "cloudflare:workers";

await reset();
await applyD1Migrations(env.DB, env.MIGRATIONS);
