/**
 * Lists whose filter matches hardly any row: each page looks through `MAX_CHECKED` rows and names the next
 * page.
 */
import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { MAX_CHECKED } from "../../../src/objects/account/prediction-lists.ts";
import type { Prediction } from "../../../src/protocol/prediction.ts";
import { type Page, pageAt } from "../support/catalogue.ts";
import { accountOf } from "../support/objects.ts";
import { newClient, newWorld, type World } from "../support/world.ts";

/** The rows fill two and a half pages of a search. */
const ROWS = 2.5 * MAX_CHECKED;
const ID = "0190aaaa-aaaa-7aaa-8aaa-";
const idOf = (n: number) => `${ID}${String(n).padStart(12, "0")}`;

/** Adds failed predictions; those with a number in `succeeded` have succeeded. */
async function fill({ user_id, model }: World, succeeded: number[]) {
  const account = (await accountOf(user_id)) ?? expect.fail("it has no object");
  const [owner, name] = model.split("/");
  await runInDurableObject(account, (_, { storage: { sql } }) => {
    const [{ model_id }] = sql
      .exec<{ model_id: string }>("SELECT model_id FROM predictions")
      .toArray() as [{ model_id: string }];
    sql.exec("DELETE FROM predictions");
    sql.exec(
      `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
      INSERT INTO predictions SELECT '${ID}' || printf('%012d', i), '', ?, ?, ?, 1, NULL, NULL, NULL, 0,
        iif(i IN (${succeeded.join()}), 'succeeded', 'failed'), i, i, NULL, NULL, NULL, NULL, NULL, NULL, 1, 1,
        NULL, NULL, '', '', '', '', NULL, 'cpu', 0 FROM n`,
      ROWS,
      model_id,
      owner,
      name,
    );
  });
}

/** Returns the IDs of each page, in one direction. */
async function walk({ client }: World, first: string, way: "next_url" | "previous_url") {
  const pages: string[][] = [];
  let last: Page<Prediction> | undefined;
  for (let url: string | null = first; url; url = last[way]) {
    last = await pageAt<Prediction>(client, url);
    pages.push(last.items.map(({ id }) => id));
  }
  return { pages, last };
}

test.each(["", "&model="])("pages that are short or empty lead to the rest%s", async (model) => {
  const world = await newWorld();
  await world.waiting();
  const middle = ROWS - MAX_CHECKED - 5;
  await fill(world, [1, middle, middle + 1]);
  const query = `/v1/predictions?page_size=5&statuses=succeeded${model && model + world.model}`;
  const there = await walk(world, query, "next_url");
  expect(there.pages).toEqual([[], [idOf(middle + 1), idOf(middle)], [idOf(1)]]);
  const previous = there.last?.previous_url ?? expect.fail("it has no page before");
  const back = await walk(world, previous, "previous_url");
  expect(back.pages.flat()).toEqual([idOf(middle + 1), idOf(middle)]);
});

test("a page that is full looks through no more rows", async () => {
  const world = await newWorld();
  await world.waiting();
  const newest = [0, 1, 2, 3, 4, 5].map((n) => ROWS - n);
  await fill(world, newest);
  const full = await pageAt<Prediction>(
    world.client,
    "/v1/predictions?page_size=5&statuses=succeeded",
  );
  expect(full.items.map(({ id }) => id)).toEqual(newest.slice(0, 5).map(idOf));
  const { pages } = await walk(world, full.next_url ?? "", "next_url");
  expect(pages.flat()).toEqual(newest.slice(5).map(idOf));
});

test("a list by a model that no prediction ran is empty, and one by several statuses finds its row", async () => {
  const world = await newWorld();
  await world.waiting();
  await fill(world, [1]);
  const named = await walk(world, "/v1/predictions?model=ada/none", "next_url");
  expect(named.pages).toEqual([[], [], []]);
  const both = "/v1/predictions?page_size=5&statuses=succeeded&statuses=canceled";
  expect((await walk(world, both, "next_url")).pages.flat()).toEqual([idOf(1)]);
});

test("a list by the end of an ID finds the prediction on its last page", async () => {
  const world = await newWorld();
  await world.waiting();
  await fill(world, []);
  const { pages } = await walk(world, "/v1/predictions?id=...000000000007", "next_url");
  expect(pages).toEqual([[], [], [idOf(7)]]);
});

test("a token for other models learns nothing from the time that a list takes", async () => {
  const world = await newWorld();
  await world.waiting();
  await fill(world, []);
  await world.client.ok("POST", "/v1/models", { name: "other" });
  const client = await newClient(world.username, { models: [`${world.username}/other`] });
  const { pages } = await walk(
    { ...world, client },
    "/v1/predictions?model=nobody/none",
    "next_url",
  );
  expect(pages).toEqual([[]]);
});
