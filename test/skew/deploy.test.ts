/** A deploy, and one that is taken back, while predictions wait, run and are read. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { USERNAME } from "../journey/support/access.ts";
import { endOf } from "../journey/support/end.ts";
import { World } from "../journey/support/world.ts";

let world: World;

beforeAll(async () => {
  // Long enough to start the other version in: nobody is lost here.
  world = await World.open({ variables: { LEASE_SECONDS: "10" }, isOld: true });
});
afterAll(() => world.close());

it.each([
  { to: "the new version", isOld: false },
  { to: "the old version", isOld: true },
])("goes on with $to where the other one was", async ({ isOld }) => {
  const ended = await world.create("hello", { name: "Ada" });
  const running = await world.create("story", { max_tokens: 150, seed: 3, delay_ms: 40 });
  const runner = await world.runner(isOld ? "second" : "first");
  await endOf(world, ended, "succeeded");
  await running.until(({ id }) => id > 30);
  const headers = { "idempotency-key": `across-${isOld}` };
  const body = { model: `${USERNAME}/gated`, input: { gate: `across-${isOld}`, after: ["b"] } };
  const create = () =>
    world.client.call(predictionWithIO, "POST", "/predictions", { body, headers });
  const { id } = await create();
  await world.deploy({ isOld });
  expect((await create()).id).toBe(id);
  runner.open("gated", `across-${isOld}`);
  expect((await endOf(world, running, "succeeded")).output).toHaveLength(150);
  expect((await endOf(world, world.watch(id), "succeeded")).output).toEqual(["b"]);
  const again = world.watch(ended.id);
  await again.ended;
  expect(again.events).toEqual(ended.events);
  await world.retire(runner);
});
