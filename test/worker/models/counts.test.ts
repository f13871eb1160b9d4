import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Model } from "../../../src/protocol/model.ts";
import { publish } from "../support/catalogue.ts";
import { tellCounts } from "../support/objects.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld, operator, unique, type World } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

const publicCountOf = async ({ client, model }: World) =>
  (await client.ok<Model>("GET", `/v1/models/${model}`)).predictions_count;

async function countOf(world: World): Promise<number> {
  await tellCounts();
  return publicCountOf(world);
}

test("thirty predictions at once are counted as thirty", async () => {
  const world = await newWorld();
  // An account may have 20 predictions waiting for each hardware.
  const hardware_identifier = unique("hw");
  await operator.ok("PUT", `/v1/operator/hardware/${hardware_identifier}`, { name: "Another" });
  await publish(world.client, world.model, { configuration: { hardware_identifier } });
  await Promise.all(
    Array.from({ length: 30 }, (_, n) =>
      world.client.create({ model: `${world.model}:${1 + (n % 2)}`, input: { n } }),
    ),
  );
  expect(await countOf(world)).toBe(30);
});

test("a prediction is counted with its create, whoever creates it and however it ends", async () => {
  const world = await newWorld({ visibility: "public" });
  expect(await countOf(world)).toBe(0);
  const stranger = await world.stranger();
  await stranger.create({ model: world.model, input: {} });
  expect(await countOf(world)).toBe(1);
  const { channel } = await (await world.runner()).work();
  await channel.succeed("a");
  await world.client.cancel(await world.waiting());
  expect(await countOf(world)).toBe(2);
});

test("creates with the same Idempotency-Key are counted once", async () => {
  const world = await newWorld();
  const headers = { "idempotency-key": unique("key") };
  const ids = await Promise.all([1, 2, 3].map(() => world.waiting({}, headers)));
  ids.push(await world.waiting({}, headers));
  expect(new Set(ids).size).toBe(1);
  expect(await countOf(world)).toBe(1);
});

test("a refused create is not counted", async () => {
  const world = await newWorld({ input: { type: "object", required: ["a"] } });
  const create = async (body: object, headers = {}) =>
    (await world.client.refused("/v1/predictions", { model: world.model, ...body }, headers))
      .status;
  expect(await create({ input: {} }, { "validate-input": "true" })).toBe(422);
  expect(await create({ input: 5 })).toBe(422);
  expect(await create({ model: `${world.model}:2`, input: {} })).toBe(404);
  expect(await countOf(world)).toBe(0);
  const statuses: number[] = [];
  for (let n = 0; n < 25; n++) statuses.push(await create({ input: {} }));
  expect(statuses.filter((status) => status === 202)).toHaveLength(20);
  expect(statuses.filter((status) => status === 429)).toHaveLength(5);
  expect(await countOf(world)).toBe(20);
});

test("a model's count stays when a version is deleted", async () => {
  const world = await newWorld();
  await world.client.cancel(await world.waiting());
  await world.client.ok("DELETE", `/v1/models/${world.model}/versions/1`);
  expect(await countOf(world)).toBe(1);
});
