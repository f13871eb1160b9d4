/** GET /v1/predictions: newest first, filtered, and only the caller's own predictions. */
import { expect, test } from "vitest";
import { timeOfId } from "../../../src/lib/hex.ts";
import type { Prediction } from "../../../src/protocol/prediction.ts";
import { newModel, type Page, pageAt, publish, referenceOf } from "../support/catalogue.ts";
import type { Client } from "../support/client.ts";
import { eventually } from "../support/eventually.ts";
import { newWorld } from "../support/world.ts";

const page = (client: Client, address: string) => pageAt<Prediction>(client, address);
const idsOf = ({ items }: Page<Prediction>) => items.map(({ id }) => id);

const world = await newWorld();
const { client } = world;
const created: string[] = [];
for (let n = 0; n < 12; n++) created.unshift(await world.waiting());

test("a list has the newest first, without input and output", async () => {
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

test("a prediction that arrives meanwhile does not shift the pages", async () => {
  const mine = await newWorld();
  const old: string[] = [];
  for (let n = 0; n < 6; n++) old.unshift(await mine.waiting());
  const first = await page(mine.client, "/v1/predictions?page_size=5");
  await mine.waiting();
  const second = await page(mine.client, first.next_url ?? "");
  expect(idsOf(second)).toEqual(old.slice(5));
});

test("a list filters by one or several statuses, also by a repeated one", async () => {
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

test("a list filters by a model's current name, together with a status", async () => {
  const mine = await newWorld();
  const { client, username } = mine;
  const other = referenceOf(await newModel(client, { hardware_identifier: mine.hardware }));
  await publish(client, other);
  const [first, second] = [await mine.waiting(), await mine.waiting()];
  const third = (await client.create({ model: other, input: {} })).body.id;
  await mine.client.cancel(first);
  const listed = async (query: string) => idsOf(await page(client, `/v1/predictions?${query}`));
  const model = `model=${mine.model}`;
  expect(await listed(model)).toEqual([second, first]);
  expect(await listed(`model=${other}`)).toEqual([third]);
  await eventually(async () =>
    expect(await listed(`${model}&statuses=canceled&statuses=failed`)).toEqual([first]),
  );
  expect(await listed(`${model}&statuses=started`)).toEqual([]);
  expect(await listed(`model=${username}/no-such-model`)).toEqual([]);
  await client.ok("PATCH", `/v1/models/${mine.model}`, { name: "tale" });
  expect(await listed(`model=${username}/tale`)).toEqual([second, first]);
  // The model's earlier name finds its predictions until another model has that name.
  expect(await listed(model)).toEqual([second, first]);
  const [, name] = mine.model.split("/");
  await newModel(client, { name, hardware_identifier: mine.hardware });
  expect(await listed(model)).toEqual([]);
});

test("a list filters by id, time, token and duration, together with other filters", async () => {
  const mine = await newWorld();
  const [first, second] = [await mine.waiting(), await mine.waiting()];
  const { channel } = await (await mine.runner()).work();
  await channel.report([], { status: "succeeded", output: "none", execution_seconds: 2.5 });
  const listed = async (query: string) =>
    idsOf(await page(mine.client, `/v1/predictions?${query}`));
  await eventually(async () => expect(await listed("statuses=succeeded")).toEqual([first]));
  expect(await listed(`id=${first}`)).toEqual([first]);
  // IDs that were made while a test's clock was ahead may share the last eight digits, so the filter has
  // nine.
  expect(await listed(`id=${first.slice(0, 9)}&statuses=pending`)).toEqual([second]);
  const time = new Date(timeOfId(second)).toISOString();
  expect(await listed(`created_after=${time}`)).toContain(second);
  expect(await listed(`created_before=${time}`)).not.toContain(second);
  expect(await listed("created_after=2100-01-01")).toEqual([]);
  expect(await listed(`min_execution_time=2.5&model=${mine.model}`)).toEqual([first]);
  expect(await listed("min_execution_time=2.6")).toEqual([]);
  expect(await listed("token=none")).toEqual([]);
  const { body } = await mine.client.json("GET", "/v1/predictions?min_execution_time=long");
  expect(body).toMatchObject({
    detail: [{ msg: "Input should be a number of seconds, such as 2.5", input: "long" }],
  });
  expect((await mine.client.json("GET", "/v1/predictions?id=run-7")).body).toMatchObject({
    detail: [{ msg: expect.stringMatching(/^Invalid ID prefix or suffix\. Send the beginning/) }],
  });
  for (const wrong of ["id=x", "created_after=today", "min_execution_time=-1", "token="])
    expect((await mine.client.json("GET", `/v1/predictions?${wrong}`)).status).toBe(422);
});

test("a cursor of one filter is refused with another", async () => {
  const query = `model=${world.model}&page_size=5`;
  const { next_cursor } = await page(client, `/v1/predictions?${query}`);
  const without = await client.json("GET", `/v1/predictions?page_size=5&cursor=${next_cursor}`);
  expect(without.status).toBe(422);
});

test("a list has only the caller's own predictions", async () => {
  const stranger = await world.stranger();
  expect(idsOf(await page(stranger, "/v1/predictions"))).toEqual([]);
});
