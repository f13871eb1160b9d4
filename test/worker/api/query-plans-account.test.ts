/** Query plans of the account object: `query-plans-account.snapshot` has those that were last reviewed. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/durable-sqlite";
import { expect, test } from "vitest";
import {
  type AccountDatabase,
  rangesOf,
  selectDue,
  selectLastChecked,
  selectNextDue,
  selectOldest,
  selectPage,
  selectRuns,
  selectSucceeded,
  selectUnfinished,
} from "../../../src/objects/account/prediction-lists.ts";
import {
  releaseStatements,
  selectMostUsed,
  selectUsage,
  selectUsagePage,
} from "../../../src/objects/account/usage.ts";
import type { PredictionFilter } from "../../../src/objects/stubs/account.ts";
import { openAccount } from "../../../src/services/access/accounts.ts";
import { getServices } from "../../../src/services/services.ts";
import type { Keyset } from "../../../src/storage/keyset.ts";
import { accountOf } from "../support/objects.ts";
import { newUser } from "../support/world.ts";

const { user_id } = await newUser();
await openAccount(getServices(env), user_id);
const account = (await accountOf(user_id)) ?? expect.fail("it has no object");

const NUMBERS =
  "FROM json_each(json_array(0,1,2,3,4,5,6,7,8,9)) AS a, json_each(json_array(0,1,2,3,4,5,6,7,8,9)) AS b";
const FILL = [
  `INSERT INTO predictions SELECT 'p' || (a.value * 10 + b.value), '', 'm' || a.value, 'ada', 'm', 1, NULL, NULL, NULL, 0,
    iif(b.value % 3, 'succeeded', iif(b.value, 'failed', 'pending')), 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, 0, 1,
    iif(b.value % 2, a.value, NULL), iif(b.value % 2, NULL, 60), '', '', '', iif(a.value = 1, 'u1', ''), NULL, 'cpu', 0 ${NUMBERS}`,
  `INSERT INTO usage SELECT '2026-11-1' || a.value, 'm' || b.value, 1, 't', '', 'cpu', '', 0, 'ada/m', 'ci', '', '', 1, 0, 1, 0, 0, 0, 0, 0, 0, '{}' ${NUMBERS}`,
  "INSERT INTO removals SELECT value, 60, value, value FROM json_each(json_array(1, 2, 3))",
  "INSERT INTO keys SELECT '', value, 'p1', 'o', 'h', 0 FROM json_each(json_array(1, 2, 3))",
];
await runInDurableObject(account, (_, { storage: { sql } }) => {
  for (const statement of FILL) sql.exec(statement);
});

interface Query {
  toSQL(): { sql: string; params: unknown[] };
}

/** Returns SQLite's plan for each of the statements. */
const plansOf = (make: (db: AccountDatabase) => Query[]) =>
  runInDurableObject(account, (_, { storage }) =>
    make(drizzle(storage)).map((query) => {
      const { sql, params } = query.toSQL();
      const values = params.map((value) => (typeof value === "boolean" ? Number(value) : value));
      return planIn(storage.sql, sql, ...(values as (string | number)[]));
    }),
  );

const planIn = (sql: SqlStorage, statement: string, ...values: (string | number)[]) =>
  sql
    .exec<{ detail: string }>(`EXPLAIN QUERY PLAN ${statement}`, ...values)
    .toArray()
    .map(({ detail }) => detail);

const ALL: PredictionFilter = { statuses: [], model: undefined, models: null };
const FIRST: Keyset = { from: undefined, back: false, limit: 50 };
const NEXT: Keyset = { from: { key: ["p50"], inclusive: false }, back: false, limit: 50 };
const BACK: Keyset = { from: { key: ["p50"], inclusive: false }, back: true, limit: 50 };

const select = (db: AccountDatabase, filter: Partial<PredictionFilter>, keyset: Keyset) =>
  rangesOf({ ...ALL, ...filter }).map((range) => selectPage(db, range, keyset, 1_000));

const FILTERS: Record<string, Partial<PredictionFilter>> = {
  all: {},
  "that have succeeded, which most have": { statuses: ["succeeded"] },
  "that have failed": { statuses: ["failed"] },
  "of several statuses, a range each": { statuses: ["failed", "pending", "canceled"] },
  "of a model": { model: { id: "m1" } },
  "of a model that have failed": { model: { id: "m1" }, statuses: ["failed", "pending"] },
  "of a token for one model": { models: ["m1"], statuses: ["failed"] },
  "of a token for two models, a range each": { models: ["m1", "m2"] },
  "of a time that have failed": { from: "p1", before: "p9", statuses: ["failed"] },
  "of a time and a model, by a token": {
    ...{ from: "p1", before: "p9", model: { id: "m1" }, token: "ci" },
  },
  "of a service token": { created_by: "ci" },
  "of a member": { maker: "u1" },
  "of a member and a model that have failed": {
    ...{ maker: "u1", model: { id: "m1" }, statuses: ["failed"] },
  },
  "that ran long": { from: "p1", min_execution_time: 5 },
  "whose id ends so, which has no index": { ending: "b2c4d5e0", from: "p1" },
  "of a name that no model has any more, which has no index": {
    model: { owner: "ada", name: "m" },
  },
};

const LISTS: Record<string, (db: AccountDatabase) => Query[]> = {
  "under way": (db) => [selectUnfinished(db, 10)],
  due: (db) => [selectDue(db, 5, 10)],
  "due first": (db) => [selectNextDue(db)],
  "that are oldest": (db) => [selectOldest(db, 10)],
  "of most used models": (db) => [selectMostUsed(db, { from: "2026-11-15", to: "2026-11-30" }, 6)],
  "of a model's last runs": (db) => [selectRuns(db, "m1", 1_000)],
  "of a version's last runs that succeeded": (db) => [
    selectSucceeded(db, { model_id: "m1", version_number: 1, maker: "u1" }, 50),
  ],
  "of a day and models": (db) => [
    selectUsage(db, { from: "2026-11-15", to: "2026-11-30" }, ["m1"]),
  ],
  "of an export's usage": (db) => [
    selectUsagePage(db, FIRST),
    selectUsagePage(db, {
      ...NEXT,
      from: { key: ["2026-11-15", "m1", 1, "t1", "", "cpu", "", 0], inclusive: false },
    }),
  ],
};

const STATEMENTS: [string, ...(string | number)[]][] = [
  ["SELECT object_id FROM predictions WHERE id = ?", "p1"],
  ["UPDATE predictions SET data_removed = 1, due_at = NULL WHERE id = ?", "p1"],
  ["DELETE FROM predictions WHERE id <= ?", "p1"],
  [
    `SELECT id FROM predictions WHERE id > ? AND id < ? AND kept_seconds = ? AND updated_at >= ?
      AND updated_at < ? AND data_removed = 0 ORDER BY id LIMIT ?`,
    ...["p1", "p9", 60, 0, 1, 50],
  ],
  ["SELECT * FROM removals ORDER BY due_at LIMIT 1"],
  ...[undefined, "u1"].flatMap((maker) => {
    const selection = { from: "2026-11-15", deployment_id: "d1", first: 1, last: 50, maker };
    const { sums, measures, values } = releaseStatements(selection);
    return [sums, measures].map((one): [string, ...(string | number)[]] => [one, ...values]);
  }),
];

test("each statement of an account object has the query plan that was last reviewed", async () => {
  const plans: Record<string, unknown> = {};
  for (const [name, filter] of Object.entries(FILTERS))
    plans[`predictions ${name}`] = {
      first: await plansOf((db) => select(db, filter, FIRST)),
      next: await plansOf((db) => select(db, filter, NEXT)),
      back: await plansOf((db) => select(db, filter, BACK)),
      checked: await plansOf((db) =>
        rangesOf({ ...ALL, ...filter }).map((range) => selectLastChecked(db, range, NEXT, 10)),
      ),
    };
  for (const [name, list] of Object.entries(LISTS)) plans[`rows ${name}`] = await plansOf(list);
  for (const [statement, ...values] of STATEMENTS)
    plans[statement] = await runInDurableObject(account, (_, { storage }) =>
      planIn(storage.sql, statement, ...values),
    );
  const text = `${JSON.stringify(plans, null, 1)}\n`;
  await expect(text).toMatchFileSnapshot("query-plans-account.snapshot");
});

test("usage is read for as many named models as an account has", async () => {
  const named = Array.from({ length: 200 }, (_, n) => `m${n}`);
  const rows = await runInDurableObject(account, (_, { storage }) =>
    selectUsage(drizzle(storage), { from: "2026-11-15", to: "9999-12-31" }, named).all(),
  );
  expect(new Set(rows.map(({ model_id }) => model_id)).size).toBe(10);
});

test("rows are checked until the page is full, and no further", async () => {
  const rowsRead = await runInDurableObject(account, (_, { storage }) => {
    const [query] = select(drizzle(storage), { statuses: ["succeeded"] }, { ...FIRST, limit: 5 });
    const { sql, params } = query?.toSQL() ?? { sql: "", params: [] };
    const cursor = storage.sql.exec(sql, ...(params as (string | number)[]));
    expect(cursor.toArray()).toHaveLength(5);
    return cursor.rowsRead;
  });
  expect(rowsRead).toBeLessThan(30);
});
