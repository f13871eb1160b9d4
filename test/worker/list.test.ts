/** GET /v1/predictions: newest first, by cursors in both directions. */
import { expect, test } from "vitest";
import type { Prediction } from "../../src/protocol/prediction.ts";
import type { Client } from "./support/client.ts";
import { eventually } from "./support/time.ts";
import { newWorld } from "./support/world.ts";

interface Page {
  items: Prediction[];
  next_cursor: string | null;
  previous_cursor: string | null;
  next_url: string | null;
  previous_url: string | null;
}

const page = async (client: Client, address: string) =>
  (await client.json<Page>("GET", address)).body;
const idsOf = ({ items }: Page) => items.map(({ id }) => id);
const path = (address: string | null) => (address ?? "").replace("https://auspex.test", "");

const world = await newWorld();
const { client } = world;
const created: string[] = [];
for (let n = 0; n < 12; n++) created.unshift(await world.waiting());

test("newest first, without input and output", async () => {
  const all = await page(client, "/v1/predictions");
  expect(idsOf(all)).toEqual(created);
  expect(all).toMatchObject({
    next_cursor: null,
    previous_cursor: null,
    next_url: null,
    previous_url: null,
  });
  expect(all.items[0]).not.toHaveProperty("input");
  expect(all.items[0]).not.toHaveProperty("output");
  expect(all.items[0]).toMatchObject({
    id: created[0],
    status: "pending",
    model: { owner: world.username },
  });
});

test("forth and back again by cursors", async () => {
  const cursor = (text: string | null) =>
    `/v1/predictions?page_size=5&cursor=${encodeURIComponent(text ?? "")}`;
  const first = await page(client, "/v1/predictions?page_size=5");
  expect(idsOf(first)).toEqual(created.slice(0, 5));
  expect(first.previous_cursor).toBeNull();
  const second = await page(client, cursor(first.next_cursor));
  expect(idsOf(second)).toEqual(created.slice(5, 10));
  const third = await page(client, cursor(second.next_cursor));
  expect(idsOf(third)).toEqual(created.slice(10));
  expect(third.next_cursor).toBeNull();
  const back = await page(client, cursor(third.previous_cursor));
  expect(idsOf(back)).toEqual(created.slice(5, 10));
  const begin = await page(client, cursor(back.previous_cursor));
  expect(idsOf(begin)).toEqual(created.slice(0, 5));
  expect(begin.previous_cursor).toBeNull();
  expect(idsOf(await page(client, cursor(begin.next_cursor)))).toEqual(created.slice(5, 10));
});

test("by the addresses, which keep the filters", async () => {
  const first = await page(client, "/v1/predictions?page_size=5&statuses=pending");
  expect(first.next_url).toContain("statuses=pending");
  const second = await page(client, path(first.next_url));
  expect(idsOf(second)).toEqual(created.slice(5, 10));
  expect(idsOf(await page(client, path(second.previous_url)))).toEqual(created.slice(0, 5));
});

test("a cursor of other filters is refused", async () => {
  const { next_cursor } = await page(client, "/v1/predictions?page_size=5");
  const address = `/v1/predictions?page_size=5&statuses=failed&cursor=${encodeURIComponent(next_cursor ?? "")}`;
  expect((await client.json("GET", address)).status).toBe(422);
});

test("what comes meanwhile does not shift the pages", async () => {
  const mine = await newWorld();
  const old: string[] = [];
  for (let n = 0; n < 6; n++) old.unshift(await mine.waiting());
  const first = await page(mine.client, "/v1/predictions?page_size=5");
  await mine.waiting();
  const second = await page(mine.client, path(first.next_url));
  expect(idsOf(second)).toEqual(old.slice(5));
});

test("by status, one or several, also the same twice", async () => {
  const mine = await newWorld();
  const [first, second, third] = [await mine.waiting(), await mine.waiting(), await mine.waiting()];
  await mine.client.cancel(second);
  const { job, channel } = await (await mine.runner()).work();
  expect(job.prediction_id).toBe(first);
  await channel.succeed("x");
  const listed = async (query: string) =>
    idsOf(await page(mine.client, `/v1/predictions?${query}`));
  await eventually(async () =>
    expect(await listed("statuses=succeeded&statuses=canceled")).toEqual([second, first]),
  );
  expect(await listed("statuses=succeeded&statuses=succeeded")).toEqual([first]);
  expect(await listed("statuses=pending")).toEqual([third]);
  expect(await listed("statuses=failed&statuses=started")).toEqual([]);
});

test("one's own alone", async () => {
  const stranger = await world.stranger();
  expect(idsOf(await page(stranger, "/v1/predictions"))).toEqual([]);
});
