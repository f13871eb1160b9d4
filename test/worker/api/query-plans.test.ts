/** Query plans of every list: rows are found by a range of an index. */
import { expect, test } from "vitest";
import { pageAt } from "../support/catalogue.ts";
import { Client } from "../support/client.ts";
import { isCheap, newRows, planOf, statementsOf } from "../support/query-plans.ts";
import { operator } from "../support/world.ts";

const nobody = new Client(undefined);
const { client, username, limited, model, deployment } = await newRows();

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
  ["/v1/user/models?shared=true", client],
  ["/v1/user/models?shared=true", limited],
  ["/v1/users?sort_direction=asc", nobody],
  ["/v1/users?sort_direction=desc", nobody],
  [`/v1/models/${model}/versions?`, nobody],
  [`/v1/models/${model}/variables?`, client],
  [`/v1/models/${model}/collaborators?`, client],
  ["/v1/deployments?", client],
  [`/v1/deployments/${deployment}/releases?`, client],
  ["/v1/model_categories?", nobody],
  ["/v1/hardware?", nobody],
  ["/v1/user/models?", limited],
  ["/v1/webhook-endpoints?", client],
  [`/v1/operator/users/${username}/tokens?`, operator],
  ["/v1/operator/runner_tokens?", operator],
  ["/v1/operator/runners?", operator],
  ["/v1/operator/queues?", operator],
];

test.each(LISTS)("a page of %s is a range of an index", async (list, as) => {
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

test("an expensive plan is recognized", async () => {
  const dear = async (sql: string) => (await planOf(sql)).every(isCheap);
  expect(await dear("SELECT * FROM models WHERE description = ?")).toBe(false);
  expect(await dear("SELECT * FROM users ORDER BY name LIMIT 5")).toBe(false);
  expect(await dear("SELECT * FROM models ORDER BY id LIMIT 5")).toBe(false);
});
