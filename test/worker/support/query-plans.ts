/** Plans of the database for statements, with rows in every table. */
import { env } from "cloudflare:workers";
import { vi } from "vitest";
import { database, runBatch } from "../../../src/storage/database.ts";
import { syncListings } from "../../../src/storage/models/counts.ts";
import { newClient, newUser, newWorld } from "./world.ts";

export const db = database(env.DB);
export const ALLOWANCE = { user_id: "nobody", max_bytes: 1, max_total_bytes: 1 };
/** The plan of the check of bytes before each write that adds some, and of their update after it. */
export const BYTES = ["SEARCH account_bytes USING PRIMARY KEY (user_id=?)"];

/** Rows of all tables; `n` is each number from 0 to 299. */
const fillOf = (user_id: string, other: string, modelId: string) => [
  `users (id, username, name, avatar_url, created_at, updated_at)
    SELECT 'u' || n, 'u' || n, '', '', 0, 0`,
  `categories (slug, name, description, created_at) SELECT 'c' || n, '', '', 0`,
  "pools (name) SELECT 'h' || n",
  `hardware (identifier, pool, name, gpus, cpus, ram_per_gpu_gb, ram_gb, created_at)
    SELECT 'h' || n, 'h' || n, '', 0, 1, 0, 0, 0`,
  `models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
    SELECT 'm' || n, iif(n % 2, '${user_id}', '${other}'), 'm' || n, 'public', '', '', 0, 0`,
  "model_categories (model_id, category_slug) SELECT 'm' || n, 'c' || (n % 30)",
  `versions (model_id, number, release_notes, container_image_digest, repository, schemas, compatibilities, configuration, size, created_at)
    SELECT '${modelId}', 2 + n, '', '', '', '{}', '{}', '{}', 0, 0`,
  `tokens (id, user_id, name, hash, prefix, scopes, created_at)
    SELECT 't' || n, iif(n % 2, '${user_id}', '${other}'), '', 'h' || n, '', '[]', 0`,
  `runner_tokens (id, name, hash, prefix, hardware, created_at)
    SELECT 't' || n, '', 'h' || n, '', '[]', 0`,
  `runners (id, token_id, name, hardware, pool, created_at, updated_at)
    SELECT 'r' || n, 't' || n, 'r' || n, '["cpu"]', 'cpu', 0, 0`,
  `uploads (id, user_id, key, multipart_id, size, mime_type, part_size, created_at, completed_at, expires_at)
    SELECT 'u' || n, iif(n % 2, '${user_id}', '${other}'), '', '', 1, '', 1, 0, iif(n % 3, 0, NULL), n`,
  `version_prices (model_id, version_number, set_by, starts_at)
    SELECT '${modelId}', 2, iif(n % 2, 'owner', 'operator'), n`,
  `model_variables (model_id, name, sealed, updated_at)
    SELECT iif(n % 2, '${modelId}', 'm0'), 'V' || n, '', 0`,
  // The model of the lists is shared with many accounts, and many models with its owner.
  `collaborators (model_id, account_id, level, created_at)
    SELECT '${modelId}', 'u' || n, 'run', 0`,
  `collaborators (model_id, account_id, level, created_at)
    SELECT 'm' || n, '${user_id}', 'run', 0`,
  "upload_parts (upload_id, part_number, etag) SELECT 'u' || n, 1, ''",
  `webhook_endpoints (id, user_id, url, description, events, secrets, enabled, created_at, updated_at)
    SELECT 'w' || n, iif(n % 2, '${user_id}', '${other}'), '', '', '[]', '[]', 0, 0, 0`,
  `deployments (id, owner_id, name, created_at, release)
    SELECT 'd' || n, iif(n % 2, '${user_id}', '${other}'), 'd' || n, 0, 1`,
  `releases (deployment_id, number, model_id, version_number, hardware_identifier, min_instances, max_instances, created_at)
    SELECT 'd' || n, 1, 'm' || n, 1, 'cpu', 0, 1, 0`,
  `releases (deployment_id, number, model_id, version_number, hardware_identifier, min_instances, max_instances, created_at)
    SELECT 'd1', 2 + n, '${modelId}', 1, 'cpu', 0, 1, 0`,
  `account_counts (user_id, model_id, predictions, told_at)
    SELECT iif(n % 2, '${user_id}', '${other}'), 'm' || n, 1, n`,
];

/** Returns a world whose tables have many rows, half of them another user's. */
export async function newRows() {
  const world = await newWorld({ visibility: "public" });
  const { client, username, user_id, model } = world;
  const { user_id: other } = await newUser();
  const limited = await newClient(username, { models: [model] });
  const modelId = (await client.ok<{ id: string }>("GET", `/v1/models/${model}`)).id;
  const numbers = JSON.stringify([...Array(300).keys()]);
  await env.DB.batch(
    fillOf(user_id, other, modelId).map((rows) =>
      env.DB.prepare(`INSERT INTO ${rows} FROM (SELECT value AS n FROM json_each(?))`).bind(
        numbers,
      ),
    ),
  );
  const some = [modelId, ...Array.from({ length: 49 }, (_, n) => `m${2 * n + 1}`)];
  await env.DB.prepare("UPDATE tokens SET models = ? WHERE user_id = ? AND models IS NOT NULL")
    .bind(JSON.stringify(some), user_id)
    .run();
  await runBatch(db, syncListings(db));
  return {
    client,
    username,
    user_id,
    other,
    limited,
    model,
    modelId,
    deployment: `${username}/d1`,
  };
}

/** Returns the plan of a statement, one text for each step. The plan does not depend on the values. */
export async function planOf(sql: string): Promise<string[]> {
  const values = Array(sql.split("?").length - 1).fill(null);
  const explain = env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind(...values);
  const { results } = await explain.all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

/** Returns the statements that a call runs. */
export async function statementsOf(call: () => Promise<unknown>): Promise<string[]> {
  const prepare = vi.spyOn(env.DB, "prepare");
  const session = vi.spyOn(env.DB, "withSession").mockImplementation(() => ({
    prepare: (sql) => env.DB.prepare(sql),
    batch: (statements) => env.DB.batch(statements),
    getBookmark: () => null,
  }));
  try {
    await call();
    return prepare.mock.calls.map(([sql]) => sql);
  } finally {
    session.mockRestore();
    prepare.mockRestore();
  }
}

/**
 * Scans of whole lists: these read the first rows of the index that they are sorted by. SQLite calls that a
 * scan, although it ends with the page.
 */
const WHOLE = /^SCAN (users|categories|hardware|runners|runner_tokens) USING INDEX /;

export const isCheap = (step: string) =>
  !step.includes("TEMP B-TREE") &&
  (!/^SCAN /.test(step) || /^SCAN (json_each|CONSTANT ROW)/.test(step) || WHOLE.test(step));

/** Returns the plans of the statements that a call runs. */
export const plansOf = async (call: () => Promise<unknown>) =>
  Promise.all((await statementsOf(call)).map(planOf));
