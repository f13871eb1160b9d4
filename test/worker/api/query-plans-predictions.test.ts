/** Query plans of the account object: predictions are found by a range of an index or of their table. */
import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { drizzle } from "drizzle-orm/durable-sqlite";
import { expect, test } from "vitest";
import { selectMostUsed, selectUsage } from "../../../src/objects/account/counters.ts";
import {
  type AccountDatabase,
  rangesOf,
  selectDue,
  selectLastChecked,
  selectNextDue,
  selectOldest,
  selectPage,
  selectUnfinished,
} from "../../../src/objects/account/prediction-lists.ts";
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
  `INSERT INTO predictions SELECT 'p' || (a.value * 10 + b.value), '', 'm' || a.value, 'ada', 'm', 1, 0,
    iif(b.value % 3, 'succeeded', iif(b.value, 'failed', 'pending')), 0, 0, NULL, NULL, NULL, NULL, 0, 1,
    iif(b.value % 2, a.value, NULL), iif(b.value % 2, NULL, 60), '', '', 0 ${NUMBERS}`,
  `INSERT INTO usage SELECT '2026-11-1' || a.value, 'm' || b.value, 't', 'ada/m', 1, 0, 1, 0 ${NUMBERS}`,
  "INSERT INTO removals SELECT value, 60, value, value FROM json_each(json_array(1, 2, 3))",
  "INSERT INTO keys SELECT value, 'p1', 'o', 'h', 0 FROM json_each(json_array(1, 2, 3))",
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

/** Returns the steps that read rows, before they are checked one by one. */
const read = ([first, ...plan]: string[]) => {
  expect([first, plan.pop()]).toEqual(["CO-ROUTINE predictions", "SCAN predictions"]);
  return plan;
};

const TABLE = "SEARCH predictions USING PRIMARY KEY";
const STATUS = "SEARCH predictions USING INDEX predictions_status";
const MODEL = "SEARCH predictions USING INDEX predictions_model";

test.each<[string, Partial<PredictionFilter>, string[], string[], string[]]>([
  // The table is read in its own order, and the read ends with the page.
  ["all", {}, ["SCAN predictions"], [`${TABLE} (id<?)`], [`${TABLE} (id>?)`]],
  [
    "that have succeeded, which most have",
    { statuses: ["succeeded"] },
    ["SCAN predictions"],
    [`${TABLE} (id<?)`],
    [`${TABLE} (id>?)`],
  ],
  [
    "that have failed",
    { statuses: ["failed"] },
    [`${STATUS} (status=?)`],
    [`${STATUS} (status=? AND id<?)`],
    [`${STATUS} (status=? AND id>?)`],
  ],
  [
    "of a model",
    { model: { id: "m1" } },
    [`${MODEL} (model_id=?)`],
    [`${MODEL} (model_id=? AND id<?)`],
    [`${MODEL} (model_id=? AND id>?)`],
  ],
  [
    "of a model that have failed",
    { model: { id: "m1" }, statuses: ["failed", "pending"] },
    [`${MODEL} (model_id=?)`],
    [`${MODEL} (model_id=? AND id<?)`],
    [`${MODEL} (model_id=? AND id>?)`],
  ],
  [
    "of a token for one model",
    { models: ["m1"], statuses: ["failed"] },
    [`${MODEL} (model_id=?)`],
    [`${MODEL} (model_id=? AND id<?)`],
    [`${MODEL} (model_id=? AND id>?)`],
  ],
  [
    "of a time that have failed",
    { from: "p1", before: "p9", statuses: ["failed"] },
    [`${STATUS} (status=? AND id>? AND id<?)`],
    [`${STATUS} (status=? AND id>? AND id<?)`],
    [`${STATUS} (status=? AND id>? AND id<?)`],
  ],
  [
    "of a time and a model, by a token",
    { from: "p1", before: "p9", model: { id: "m1" }, token: "ci" },
    [`${MODEL} (model_id=? AND id>? AND id<?)`],
    [`${MODEL} (model_id=? AND id>? AND id<?)`],
    [`${MODEL} (model_id=? AND id>? AND id<?)`],
  ],
  [
    "that ran long",
    { from: "p1", min_execution_time: 5 },
    [`${TABLE} (id>?)`],
    [`${TABLE} (id>? AND id<?)`],
    [`${TABLE} (id>?)`],
  ],
  // The end of an ID has no index.
  [
    "whose id ends so",
    { ending: "b2c4d5e0", from: "p1" },
    [`${TABLE} (id>?)`],
    [`${TABLE} (id>? AND id<?)`],
    [`${TABLE} (id>?)`],
  ],
  // The names of models have no index: rows are read in order until the page is full.
  [
    "of a name that no model has any more",
    { model: { owner: "ada", name: "m" } },
    ["SCAN predictions"],
    [`${TABLE} (id<?)`],
    [`${TABLE} (id>?)`],
  ],
])("a page of predictions %s is found by a range", async (_, filter, first, next, back) => {
  const plans = async (keyset: Keyset) =>
    (await plansOf((db) => select(db, filter, keyset))).map(read);
  expect(await plans(FIRST)).toEqual([first]);
  expect(await plans(NEXT)).toEqual([next]);
  expect(await plans(BACK)).toEqual([back]);
});

test("several statuses, or several models of a token, are a range each", async () => {
  const statuses = await plansOf((db) =>
    select(db, { statuses: ["failed", "pending", "canceled"] }, NEXT),
  );
  expect(statuses.map(read)).toEqual(Array(3).fill([`${STATUS} (status=? AND id<?)`]));
  const models = await plansOf((db) => select(db, { models: ["m1", "m2"] }, NEXT));
  expect(models.map(read)).toEqual(Array(2).fill([`${MODEL} (model_id=? AND id<?)`]));
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

test.each<[string, Partial<PredictionFilter>, string]>([
  ["with a status", { statuses: ["succeeded"] }, `${TABLE} (id<?)`],
  [
    "with a model and a status",
    { model: { id: "m1" }, statuses: ["failed"] },
    "SEARCH predictions USING COVERING INDEX predictions_model (model_id=? AND id<?)",
  ],
])(
  "the last checked row of predictions %s is found without reading rows",
  async (_, filter, plan) => {
    const plans = await plansOf((db) =>
      rangesOf({ ...ALL, ...filter }).map((range) => selectLastChecked(db, range, NEXT, 10)),
    );
    expect(plans).toEqual([[plan]]);
  },
);

test.each<[string, (db: AccountDatabase) => Query, string[]]>([
  ["under way", (db) => selectUnfinished(db, 10), [`${STATUS} (status=?)`]],
  [
    "due",
    (db) => selectDue(db, 5, 10),
    ["SEARCH predictions USING INDEX predictions_due (due_at>? AND due_at<?)"],
  ],
  [
    "due first",
    (db) => selectNextDue(db),
    ["SEARCH predictions USING COVERING INDEX predictions_due (due_at>?)"],
  ],
  ["that are oldest", (db) => selectOldest(db, 10), ["SCAN predictions"]],
])("predictions %s are found by an index or the table", async (_, query, plan) => {
  expect(await plansOf((db) => [query(db)])).toEqual([plan]);
});

test("usage is a range of its key, and grouping sorts with a temporary tree", async () => {
  const [most = [], days = []] = await plansOf((db) => [
    selectMostUsed(db, "2026-11-15", 6),
    selectUsage(db, "2026-11-15", ["m1"]),
  ]);
  for (const plan of [most, days]) expect(plan[0]).toBe("SEARCH usage USING PRIMARY KEY (day>?)");
});

test("rows that are written or removed are found by their key", async () => {
  const statements: [string, ...(string | number)[]][] = [
    ["SELECT object_id FROM predictions WHERE id = ?", "p1"],
    ["UPDATE predictions SET data_removed = 1, due_at = NULL WHERE id = ?", "p1"],
    ["DELETE FROM predictions WHERE id <= ?", "p1"],
    [
      `SELECT id FROM predictions WHERE id > ? AND id < ? AND kept_seconds = ? AND updated_at >= ?
        AND updated_at < ? AND data_removed = 0 ORDER BY id LIMIT ?`,
      "p1",
      "p9",
      60,
      0,
      1,
      50,
    ],
    ["SELECT * FROM removals ORDER BY due_at LIMIT 1"],
  ];
  const plans = await runInDurableObject(account, (_, { storage }) =>
    statements.map(([statement, ...values]) => planIn(storage.sql, statement, ...values)),
  );
  expect(plans).toEqual([
    [`${TABLE} (id=?)`],
    [`${TABLE} (id=?)`],
    [`${TABLE} (id<?)`],
    [`${TABLE} (id>? AND id<?)`],
    ["SCAN removals"],
  ]);
});
