/** Deleting models and versions: accepted predictions still run to their end. */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import type { Model, Version } from "../../../src/protocol/model.ts";
import { pageAt, publish } from "../support/catalogue.ts";
import type { Refusal } from "../support/client.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const remove = ({ client, model }: World, version = "") =>
  client.json<Refusal>("DELETE", `/v1/models/${model}${version}`);

describe.each([
  ["a model", ""],
  ["a version", "/versions/1"],
])("deleting %s", (_, part) => {
  test("a deletion lets accepted predictions run to their end, and no new one begin", async () => {
    const world = await newWorld();
    const [running, waiting] = [await world.waiting(), await world.waiting()];
    const runner = await world.runner();
    const first = await runner.work();
    const { status, body } = await remove(world, part);
    expect([status, body]).toEqual([200, {}]);
    await first.channel.succeed("a");
    expect(await world.client.get(running)).toMatchObject({ status: "succeeded", output: ["a"] });
    const second = await runner.work();
    expect(second.job.prediction_id).toBe(waiting);
    await second.channel.succeed("b");
    expect(await world.client.get(waiting)).toMatchObject({ status: "succeeded", output: ["b"] });
    const refused = await world.client.refused("/v1/predictions", {
      model: world.model,
      input: {},
    });
    expect(refused.status).toBe(404);
  });

  test("a deletion works after a cancel", async () => {
    const world = await newWorld();
    await world.client.cancel(await world.waiting());
    expect((await remove(world, part)).status).toBe(200);
  });

  test("a deletion leaves predictions to the accounts that ran them", async () => {
    const world = await newWorld({ visibility: "public" });
    const stranger = await world.stranger();
    const { body } = await stranger.create({ model: world.model, input: { a: 1 } });
    const { channel } = await (await world.runner()).work();
    await channel.succeed("a");
    expect((await remove(world, part)).status).toBe(200);
    const [owner, name] = world.model.split("/");
    const kept = { id: body.id, model: { owner, name, version_number: 1 }, status: "succeeded" };
    expect(await stranger.get(body.id)).toMatchObject({ ...kept, input: { a: 1 }, output: ["a"] });
    expect((await pageAt(stranger, "/v1/predictions")).items).toMatchObject([{ id: body.id }]);
  });

  test("a deletion refuses new predictions at once", async () => {
    const world = await newWorld();
    await world.client.cancel(await world.waiting());
    const { body } = await world.client.create({ model: `${world.model}:1`, input: {} });
    await world.client.cancel(body.id);
    await remove(world, part);
    for (const reference of [world.model, `${world.model}:1`]) {
      const answer = await world.client.refused("/v1/predictions", { model: reference, input: {} });
      expect(answer.status).toBe(404);
    }
  });

  test("a second deletion is a 404", async () => {
    const world = await newWorld();
    expect((await remove(world, part)).status).toBe(200);
    expect((await remove(world, part)).status).toBe(404);
    expect((await remove(world, `${part}x`)).status).toBe(part ? 422 : 404);
  });
});

test("a deleted model is in no list, and a new model of its name has none of its data", async () => {
  const world = await newWorld({ visibility: "public" });
  const { client, model, username } = world;
  await client.ok("PATCH", `/v1/models/${model}`, { category_slugs: ["chat"] });
  await publish(client, model);
  await remove(world);
  for (const list of ["/v1/user/models", `/v1/models/${username}`])
    expect((await pageAt(client, list)).items).toEqual([]);
  const made = await client.ok<Model>("POST", "/v1/models", { name: "story" });
  expect(made).toMatchObject({ latest_version: null, predictions_count: 0, categories: [] });
  expect((await pageAt(client, `/v1/models/${model}/versions`)).items).toEqual([]);
  expect(await publish(client, model)).toMatchObject({ number: 1, configuration: {} });
});

test("a version is deleted while another runs, and the version before is then the latest", async () => {
  const world = await newWorld();
  const { client, model } = world;
  await world.waiting();
  await publish(client, model);
  const before = await client.ok<Model>("GET", `/v1/models/${model}`);
  expect(before.latest_version?.number).toBe(2);
  expect((await remove(world, "/versions/2")).status).toBe(200);
  const after = await client.ok<Model>("GET", `/v1/models/${model}`);
  expect(after.latest_version?.number).toBe(1);
  const { items } = await pageAt<Version>(client, `/v1/models/${model}/versions`);
  expect(items.map(({ number }) => number)).toEqual([1]);
});
