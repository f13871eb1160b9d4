/** How the database finds the rows of every list: by a range of an index, never by looking at all. */
import { env } from "cloudflare:workers";
import { afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import { takeAccountsToSweep } from "../../../src/storage/accounts/account-bytes.ts";
import {
  deleteUsage,
  listFirstPredictions,
  listSomeModels,
  listSomeUnfinished,
  takeClosedAccounts,
} from "../../../src/storage/accounts/account-removal.ts";
import { listOperators, listSuspended } from "../../../src/storage/accounts/operators.ts";
import { listRecoveries } from "../../../src/storage/accounts/sign-in.ts";
import {
  findModelNames,
  findModelsByName,
  insertToken,
  markTokenUsed,
} from "../../../src/storage/accounts/tokens.ts";
import { findMostUsed, listUsage } from "../../../src/storage/accounts/usage.ts";
import { database, runBatch } from "../../../src/storage/database.ts";
import {
  claimExpired,
  completeUpload,
  deleteUploads,
  findOwnUploads,
  findUpload,
  insertUpload,
  keepUploads,
  listAccountsWithExpired,
  listParts,
} from "../../../src/storage/files/uploads.ts";
import { syncListings } from "../../../src/storage/models/models.ts";
import {
  deletePredictions,
  findLastRemoved,
  findUnfinished,
  findUnremoved,
  markDataRemoved,
  takeOverdue,
} from "../../../src/storage/predictions/predictions.ts";
import {
  addSecret,
  clearFailures,
  deleteEndpoint,
  findEndpoint,
  findOwnEndpoint,
  insertEndpoint,
  listEnabled,
  removeSecret,
  saveHealth,
  updateEndpoint,
  type WebhookEndpointRow,
} from "../../../src/storage/webhooks/endpoints.ts";
import { pageAt } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { newClient, newUser, newWorld, operator } from "../support/world.ts";

const nobody = new Client(undefined);
const ALLOWANCE = { user_id: "nobody", max_bytes: 1 };
/** Before each write that takes room, and after it. */
const BYTES = ["SEARCH account_bytes USING PRIMARY KEY (user_id=?)"];
const db = database(env.DB);
const { client, username, user_id, model } = await newWorld({ visibility: "public" });
const { user_id: other } = await newUser();
const limited = await newClient(username, { models: [model] });
const modelId = (await client.ok<{ id: string }>("GET", `/v1/models/${model}`)).id;

/** Rows of all tables; `n` is each number from 0 to 299. */
const FILL = [
  `users (id, username, name, avatar_url, created_at, updated_at)
    SELECT 'u' || n, 'u' || n, '', '', 0, 0`,
  `categories (slug, name, description, created_at) SELECT 'c' || n, '', '', 0`,
  `hardware (identifier, name, gpus, cpus, ram_per_gpu_gb, ram_gb, created_at)
    SELECT 'h' || n, '', 0, 1, 0, 0, 0`,
  `models (id, owner_id, name, visibility, description, overview, created_at, updated_at)
    SELECT 'm' || n, iif(n % 2, '${user_id}', '${other}'), 'm' || n, 'public', '', '', 0, 0`,
  "model_categories (model_id, category_slug) SELECT 'm' || n, 'c' || (n % 30)",
  `versions (model_id, number, release_notes, container_image_digest, repository, schemas, compatibilities, configuration, size, created_at)
    SELECT '${modelId}', 2 + n, '', '', '', '{}', '{}', '{}', 0, 0`,
  `predictions (user_id, id, object_id, model_id, model_owner, model_name, version_number, stream, status, created_at, updated_at, data_removed, revision, checked_at)
    SELECT iif(n % 2, '${user_id}', '${other}'), 'p' || n, '', 'm' || n, '', '', 1, 0,
      iif(n % 3, 'failed', 'pending'), 0, 0, 0, 1, 0`,
  `tokens (id, user_id, name, hash, prefix, scopes, created_at)
    SELECT 't' || n, iif(n % 2, '${user_id}', '${other}'), '', 'h' || n, '', '[]', 0`,
  `runner_tokens (id, name, hash, prefix, hardware, created_at)
    SELECT 't' || n, '', 'h' || n, '', '[]', 0`,
  `runners (id, token_id, name, hardware, created_at, updated_at)
    SELECT 'r' || n, 't' || n, 'r' || n, 'cpu', 0, 0`,
  `uploads (id, user_id, key, multipart_id, size, mime_type, part_size, created_at, completed_at, expires_at)
    SELECT 'u' || n, iif(n % 2, '${user_id}', '${other}'), '', '', 1, '', 1, 0, iif(n % 3, 0, NULL), n`,
  `model_variables (model_id, name, sealed, updated_at)
    SELECT iif(n % 2, '${modelId}', 'm0'), 'V' || n, '', 0`,
  "upload_parts (upload_id, part_number, etag) SELECT 'u' || n, 1, ''",
  `webhook_endpoints (id, user_id, url, description, events, secrets, enabled, created_at, updated_at)
    SELECT 'w' || n, iif(n % 2, '${user_id}', '${other}'), '', '', '[]', '[]', 0, 0, 0`,
  `usage (user_id, day, model_id, model, predictions, failed, execution_seconds)
    SELECT iif(n % 2, '${user_id}', '${other}'), '2026-11-' || (10 + n % 20), 'm' || n, '', 1, 0, 0`,
];

beforeAll(async () => {
  const numbers = JSON.stringify([...Array(300).keys()]);
  await env.DB.batch(
    FILL.map((rows) =>
      env.DB.prepare(`INSERT INTO ${rows} FROM (SELECT value AS n FROM json_each(?))`).bind(
        numbers,
      ),
    ),
  );
  // Of one model so many that they fill pages.
  await env.DB.prepare("UPDATE predictions SET model_id = ? WHERE id > 'p2' AND user_id = ?")
    .bind(modelId, user_id)
    .run();
  const some = [modelId, ...Array.from({ length: 49 }, (_, n) => `m${2 * n + 1}`)];
  await env.DB.prepare("UPDATE tokens SET models = ? WHERE user_id = ? AND models IS NOT NULL")
    .bind(JSON.stringify(some), user_id)
    .run();
  await runBatch(db, syncListings(db));
});

afterEach(() => {
  vi.restoreAllMocks();
});

/** What the database would do, a line for each step. The plan does not depend on the values. */
async function planOf(sql: string): Promise<string[]> {
  const values = Array(sql.split("?").length - 1).fill(null);
  const explain = env.DB.prepare(`EXPLAIN QUERY PLAN ${sql}`).bind(...values);
  const { results } = await explain.all<{ detail: string }>();
  return results.map(({ detail }) => detail);
}

/** The statements that a call runs. */
async function statementsOf(call: () => Promise<unknown>): Promise<string[]> {
  const prepare = vi.spyOn(env.DB, "prepare");
  await call();
  const statements = prepare.mock.calls.map(([sql]) => sql);
  prepare.mockRestore();
  return statements;
}

/**
 * Lists of all there is: at the beginning they take the first rows of the index that they are
 * sorted by, which SQLite calls a scan, although it ends with the page.
 */
const WHOLE = /^SCAN (users|categories|hardware|runners|runner_tokens) USING INDEX /;

const isCheap = (step: string) =>
  !step.includes("TEMP B-TREE") &&
  (!/^SCAN /.test(step) || /^SCAN (json_each|CONSTANT ROW)/.test(step) || WHOLE.test(step));

const filters = [
  "",
  "&category_slugs=c1",
  "&category_slugs=c1&category_slugs=c2&category_slugs=c3",
];
const sorted = ["created_at", "predictions_count"].flatMap((sort) =>
  ["asc", "desc"].flatMap((direction) =>
    filters.map((filter) => `?sort_by=${sort}&sort_direction=${direction}${filter}`),
  ),
);
const LISTS: [string, Client][] = [
  ...sorted.map((query): [string, Client] => [`/v1/models${query}`, nobody]),
  ...sorted.map((query): [string, Client] => [`/v1/models/${username}${query}`, nobody]),
  ["/v1/user/models?", client],
  ["/v1/users?sort_direction=asc", nobody],
  ["/v1/users?sort_direction=desc", nobody],
  [`/v1/models/${model}/versions?`, nobody],
  [`/v1/models/${model}/variables?`, client],
  ["/v1/model_categories?", nobody],
  ["/v1/hardware?", nobody],
  ["/v1/predictions?", client],
  ["/v1/predictions?statuses=pending", client],
  ["/v1/predictions?statuses=pending&statuses=failed&statuses=canceled", client],
  [`/v1/predictions?model=${model}`, client],
  [`/v1/predictions?model=${model}&statuses=pending&statuses=failed`, client],
  ["/v1/user/models?", limited],
  ["/v1/predictions?", limited],
  ["/v1/predictions?statuses=pending&statuses=failed", limited],
  [`/v1/predictions?model=${model}&statuses=failed`, limited],
  ["/v1/webhook-endpoints?", client],
  [`/v1/operator/users/${username}/tokens?`, operator],
  ["/v1/operator/runner_tokens?", operator],
  ["/v1/operator/runners?", operator],
  ["/v1/operator/queues?", operator],
];

test.each(LISTS)("%s", async (list, as) => {
  const statements = await statementsOf(async () => {
    const first = await pageAt(as, `${list}&page_size=5`);
    const second = await pageAt(as, first.next_url ?? expect.fail("it has one page only"));
    await pageAt(as, second.previous_url ?? expect.fail("there is no way back"));
  });
  const pages = statements.filter((sql) => /order by/.test(sql));
  expect(pages.length).toBeGreaterThanOrEqual(3);
  for (const sql of new Set(statements)) {
    const dear = (await planOf(sql)).filter((step) => !isCheap(step));
    expect({ sql, dear }).toEqual({ sql, dear: [] });
  }
});

test.each([
  ["statuses=failed", "predictions_status (user_id=? AND status=?)"],
  ["model=MODEL", "predictions_model (user_id=? AND model_id=?)"],
  ["model=MODEL&statuses=failed", "predictions_model (user_id=? AND model_id=?)"],
])("the first page of predictions with %s is a range of its own index", async (filter, index) => {
  const path = `/v1/predictions?${filter.replace("MODEL", model)}`;
  const plans = await plansOf(async () => client.json("GET", path));
  expect(plans.flat()).toContain(`SEARCH predictions USING INDEX ${index}`);
});

test("of a token for some models each model is a range of the same index", async () => {
  const plans = await plansOf(async () => limited.json("GET", "/v1/predictions"));
  const range = "SEARCH predictions USING INDEX predictions_model (user_id=? AND model_id=?)";
  expect(plans.filter((plan) => plan.join() === range)).toHaveLength(50);
});

test("predictions by a name that no model has any more are looked for among the user's own", async () => {
  const plans = await plansOf(async () => client.json("GET", "/v1/predictions?model=no/model"));
  expect(plans.flat()).toContain("SEARCH predictions USING PRIMARY KEY (user_id=?)");
  expect(plans.flat().every(isCheap)).toBe(true);
});

test("a plan that is dear is seen as such", async () => {
  const dear = async (sql: string) => (await planOf(sql)).every(isCheap);
  expect(await dear("SELECT * FROM models WHERE description = ?")).toBe(false);
  expect(await dear("SELECT * FROM users ORDER BY name LIMIT 5")).toBe(false);
  expect(await dear("SELECT * FROM models ORDER BY id LIMIT 5")).toBe(false);
});

const plansOf = async (call: () => Promise<unknown>) =>
  Promise.all((await statementsOf(call)).map(planOf));

describe("uploads", () => {
  const BY_ID = "SEARCH uploads USING INDEX sqlite_autoindex_uploads_1 (id=?)";
  const BY_ID_ALONE = BY_ID.replace("USING", "USING COVERING");
  const EXPIRES = "SEARCH uploads USING COVERING INDEX uploads_expires";
  const PARTS = "SEARCH upload_parts USING PRIMARY KEY (upload_id=?)";
  const row = {
    id: "new",
    user_id,
    prediction_id: null,
    token_id: null,
    key: "",
    multipart_id: "",
    size: 1,
    mime_type: "",
    name: null,
    part_size: 1,
    created_at: 0,
    completed_at: null,
    removed_at: null,
    expires_at: 1,
  };

  test.each<[string, () => Promise<unknown>, string[][]]>([
    [
      "what is pending of an account is counted in the index of what is pending",
      () => insertUpload(db, row, 1_000, ALLOWANCE),
      [
        BYTES,
        [
          "SCAN CONSTANT ROW",
          "SCALAR SUBQUERY 1",
          "SEARCH uploads USING INDEX uploads_pending (user_id=?)",
          // Nothing is there: SQLite looks because parts refer to uploads.
          PARTS,
        ],
        BYTES,
      ],
    ],
    ["one is found by its id", async () => findUpload(db, "u1"), [[BY_ID]]],
    ["one's own too", async () => findOwnUploads(db, user_id, ["u1", "u2"]), [[BY_ID]]],
    ["its parts are a range, in order", async () => listParts(db, "u1"), [[PARTS]]],
    ["completed", () => completeUpload(db, "u1", 1, 2), [[BY_ID], [PARTS]]],
    ["kept for longer", async () => keepUploads(db, ["u1", "u2"], 5), [[BY_ID]]],
    [
      "deleted, with their parts",
      async () => deleteUploads(db, ["u1", "u2"]),
      [[BY_ID_ALONE, "LIST SUBQUERY 1", "SCAN json_each VIRTUAL TABLE INDEX 1:", PARTS]],
    ],
    [
      "accounts with some that have had their time are found by two looks each",
      () => listAccountsWithExpired(db, 100, 50),
      [
        [
          "CO-ROUTINE holders",
          "SETUP",
          EXPIRES,
          "RECURSIVE STEP",
          "SCAN holders",
          "CORRELATED SCALAR SUBQUERY 2",
          `${EXPIRES} (user_id>?)`,
          "SCAN holders",
          "SEARCH uploads EXISTS USING COVERING INDEX uploads_expires (user_id=? AND expires_at<?)",
          "USE TEMP B-TREE FOR ORDER BY",
        ],
      ],
    ],
    [
      "those of an account that have had their time are the first of an index",
      () => claimExpired(db, { users: [user_id, other], each: 5, now: 100, again: 200 }),
      [
        [
          BY_ID_ALONE,
          "LIST SUBQUERY 2",
          "SCAN account VIRTUAL TABLE INDEX 1:",
          "SEARCH one USING COVERING INDEX sqlite_autoindex_uploads_1 (id=?)",
          "CORRELATED LIST SUBQUERY 1",
          "SEARCH uploads USING INDEX uploads_expires (user_id=? AND expires_at<?)",
        ],
      ],
    ],
  ])("%s", async (_, call, plans) => {
    expect(await plansOf(call)).toEqual(plans);
  });
});

describe("webhook endpoints", () => {
  const BY_ID = "SEARCH webhook_endpoints USING INDEX sqlite_autoindex_webhook_endpoints_1 (id=?)";
  const OF_USER = "USING INDEX webhook_endpoints_user (user_id=?)";
  const secret = { id: "s1", secret: "", created_at: 0 };
  const health = { enabled: true, failing_since: 0, last_error: "", notice: null };
  const row: WebhookEndpointRow = {
    ...health,
    id: "new",
    user_id,
    url: "",
    description: "",
    events: [],
    secrets: [],
    created_at: 0,
    updated_at: 0,
  };

  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      "those of an account are counted in their index",
      () => insertEndpoint(db, row, 4),
      [
        "SCAN CONSTANT ROW",
        "SCALAR SUBQUERY 1",
        "SEARCH webhook_endpoints USING COVERING INDEX webhook_endpoints_user (user_id=?)",
      ],
    ],
    [
      "those that are on are looked up in it, in order",
      async () => listEnabled(db, user_id),
      [`SEARCH webhook_endpoints ${OF_USER}`],
    ],
    ["one is found by its id", async () => findEndpoint(db, "w1"), [BY_ID]],
    ["one's own too", async () => findOwnEndpoint(db, user_id, "w1"), [BY_ID]],
    ["changed", async () => updateEndpoint(db, user_id, "w1", { enabled: false }, 0), [BY_ID]],
    [
      "told of",
      () => saveHealth(db, "w1", health, { at: 0, updated_at: 0, failing_since: null }),
      [BY_ID],
    ],
    ["told to work", () => clearFailures(db, "w1", { at: 0, updated_at: 0 }), [BY_ID]],
    ["given a secret", async () => addSecret(db, user_id, "w1", secret, 3), [BY_ID]],
    ["deleted", () => deleteEndpoint(db, user_id, "w1"), [BY_ID]],
  ])("%s", async (_, call, plan) => {
    expect(await plansOf(call)).toEqual([plan]);
  });

  test("a secret that goes is looked for in its endpoint", async () => {
    const [plan = []] = await plansOf(async () => removeSecret(db, user_id, "w1", "s1", 0));
    expect(plan[0]).toBe(BY_ID);
    expect(plan.filter((step) => !isCheap(step))).toEqual([]);
  });
});

describe("usage", () => {
  // Grouping takes a tree of its own: of a range that has a row for each day and model.
  test("is a range of its key", async () => {
    const range = "SEARCH usage USING PRIMARY KEY (user_id=? AND day>?)";
    const [most = []] = await plansOf(async () => findMostUsed(db, user_id, "2026-11-20", 6));
    const [days = []] = await plansOf(async () => listUsage(db, user_id, "2026-11-20", ["m1"]));
    for (const plan of [most, days]) {
      expect(plan[0]).toBe(range);
      expect(plan.filter((step) => /^(SCAN|SEARCH)/.test(step))).toEqual([range]);
    }
  });
});

describe("accounts that are given up", () => {
  const OF_USER = "SEARCH predictions USING PRIMARY KEY (user_id=?)";

  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      "are a range of the names",
      async () => takeClosedAccounts(db, 1, 5),
      [
        "SEARCH users USING COVERING INDEX sqlite_autoindex_users_1 (id=?)",
        "LIST SUBQUERY 1",
        "SEARCH users USING INDEX users_username_unique (username>? AND username<?)",
        "USE TEMP B-TREE FOR ORDER BY",
      ],
    ],
    ["their predictions are one", async () => listFirstPredictions(db, user_id, 10), [OF_USER]],
    [
      "what is under way of them is one",
      async () => listSomeUnfinished(db, user_id, 10),
      [
        "SEARCH predictions USING PRIMARY KEY (user_id=? AND id=?)",
        "LIST SUBQUERY 3",
        "SEARCH predictions USING COVERING INDEX predictions_status (user_id=? AND status=?)",
      ],
    ],
    [
      "their models are one",
      async () => listSomeModels(db, user_id, 10),
      ["SEARCH models USING COVERING INDEX models_owner (owner_id=?)"],
    ],
  ])("%s", async (_, call, plan) => {
    expect(await plansOf(call)).toEqual([plan]);
  });

  test("what is deleted of them is looked for in their own", async () => {
    const plans = await plansOf(async () => {
      await deletePredictions(db, user_id, "p1");
      await markDataRemoved(db, user_id, ["p1"]);
      await deleteUsage(db, user_id, 10);
    });
    const steps = plans.flat().filter((step) => /^(SCAN|SEARCH)/.test(step));
    expect(
      steps.filter((step) => !/USING (PRIMARY KEY|INDEX)|^SCAN json_each|gone/.test(step)),
    ).toEqual([]);
  });
});

describe("tokens", () => {
  const OWNERS = "SEARCH users USING INDEX sqlite_autoindex_users_1 (id=?)";
  const USED = "SEARCH tokens USING INDEX sqlite_autoindex_tokens_1 (id=?)";
  const row = { id: "new", user_id, name: "", hash: "new", prefix: "", scopes: [], created_at: 0 };

  test.each<[string, () => Promise<unknown>, string[]]>([
    [
      "those of an account are counted in their index",
      async () => insertToken(db, row, 1_000, ALLOWANCE),
      ["SCALAR SUBQUERY 1", "SEARCH tokens USING INDEX tokens_user (user_id=?)"],
    ],
    ["one that is used is found by its id", () => markTokenUsed(db, "t1", 2, 1), [USED]],
    [
      "models that are named are found by owner and name",
      async () => findModelsByName(db, user_id, [["a", "b"]]),
      [
        "SCAN json_each VIRTUAL TABLE INDEX 1:",
        "SEARCH users USING INDEX users_username_unique (username=?)",
        "SEARCH models USING INDEX models_owner_name (owner_id=? AND name=?)",
      ],
    ],
    [
      "those of a token by their ids",
      async () => findModelNames(db, "t1"),
      [
        USED,
        "CORRELATED SCALAR SUBQUERY 1",
        "SCAN json_each VIRTUAL TABLE INDEX 1:",
        "SEARCH models USING INDEX sqlite_autoindex_models_1 (id=?)",
        OWNERS,
      ],
    ],
  ])("%s", async (_, call, plan) => {
    expect((await plansOf(call)).filter(([step]) => step !== BYTES[0])).toEqual([plan]);
  });
});

describe("people", () => {
  test("operators, and who is suspended, are ranges of indexes that have nobody else", async () => {
    const plans = await plansOf(async () => {
      await listOperators(db, "proof", 10);
      await listSuspended(db, 0, 10);
    });
    expect(plans).toEqual([
      ["SEARCH users USING INDEX users_operators (operator_proof=?)"],
      ["SEARCH users USING INDEX users_suspended (suspended_at>?)"],
    ]);
  });

  test("by whom somebody was given a new password is looked for among what was for them", async () => {
    const [plan = []] = await plansOf(async () => listRecoveries(db, user_id, 10));
    expect(plan[0]).toBe("SEARCH invitations USING INDEX invitations_user (user_id=?)");
  });
});

describe("beside the lists", () => {
  test("what is overdue is a range of the predictions under way", async () => {
    expect(await plansOf(() => takeOverdue(db, 1, 2, 100))).toEqual([
      [
        "SEARCH predictions USING PRIMARY KEY (user_id=? AND id=?)",
        "LIST SUBQUERY 2",
        "SEARCH predictions USING INDEX predictions_active (checked_at<?)",
      ],
    ]);
  });

  test("what has had its time is a range of the key of each user", async () => {
    const range = "SEARCH predictions USING PRIMARY KEY (user_id=? AND id<?)";
    const [removed = []] = await plansOf(() => findLastRemoved(db, [user_id], "x", 10));
    expect(removed.filter((step) => /^(SCAN|SEARCH) predictions/.test(step))).toEqual([range]);
    expect(await plansOf(async () => findUnremoved(db, user_id, "x", 10))).toEqual([[range]]);
    expect((await plansOf(() => takeAccountsToSweep(db, 1, 10))).flat()).toContain(
      "SCAN account_bytes USING COVERING INDEX account_bytes_swept",
    );
  });

  // Deleting is rare: an index by model would cost each create a row.
  test("what is under way of a model is looked for among all that is under way", async () => {
    const among = ["SCAN predictions USING INDEX predictions_active"];
    expect(await plansOf(() => findUnfinished(db, modelId, undefined))).toEqual([among]);
    expect(await plansOf(() => findUnfinished(db, modelId, 1))).toEqual([among]);
  });

  test("only counts that have changed are carried into the listings", async () => {
    const changed = "SCAN model_counts USING INDEX model_counts_unlisted";
    expect(await plansOf(() => runBatch(db, syncListings(db)))).toEqual([
      [
        "SEARCH listings USING INDEX listings_model (model_id=?)",
        "LIST SUBQUERY 2",
        changed,
        "CORRELATED SCALAR SUBQUERY 1",
        "SEARCH c USING PRIMARY KEY (model_id=?)",
      ],
      [changed],
    ]);
  });
});
