/** How the database finds the rows of every list: by a range of an index, never by looking at all. */
import { describe, expect, test } from "vitest";
import { takeAccountsToSweep } from "../../../src/storage/accounts/account-bytes.ts";
import { runBatch } from "../../../src/storage/database.ts";
import { syncListings } from "../../../src/storage/models/models.ts";
import {
  findLastRemoved,
  findUnfinished,
  findUnremoved,
  takeOverdue,
} from "../../../src/storage/predictions/predictions.ts";
import { pageAt } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { db, isCheap, newRows, planOf, plansOf, statementsOf } from "../support/query-plans.ts";
import { operator } from "../support/world.ts";

const nobody = new Client(undefined);
const { client, username, user_id, limited, model, modelId } = await newRows();

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
  ["statuses=pending", "predictions_status (user_id=? AND status=?)"],
  ["model=MODEL", "predictions_model (user_id=? AND model_id=?)"],
  ["model=MODEL&statuses=failed", "predictions_model (user_id=? AND model_id=?)"],
])("the first page of predictions with %s is a range of its own index", async (filter, index) => {
  const path = `/v1/predictions?${filter.replace("MODEL", model)}`;
  const plans = await plansOf(async () => client.json("GET", path));
  expect(plans.flat()).toContain(`SEARCH predictions USING INDEX ${index}`);
});

test("those that have succeeded are most of a user's own, and found among them", async () => {
  const plans = await plansOf(async () => client.json("GET", "/v1/predictions?statuses=succeeded"));
  expect(plans.flat()).toContain("SEARCH predictions USING PRIMARY KEY (user_id=?)");
  expect(plans.flat().every(isCheap)).toBe(true);
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
