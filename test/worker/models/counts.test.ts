import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { countOf } from "../support/counts.ts";
import { startClock, stopClock } from "../support/time.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
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
