/** A runner that is cut off until its lease ends. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

it("a prediction whose channel is broken until its lease ends is canceled, and not run again", async () => {
  const cable = await world.cable();
  const runner = await world.runner("far", { url: cable.url });
  const watch = await world.create("sums", { numbers: [1], mode: "slow", seconds: 60 });
  await watch.first("logs");
  const second = await world.runner("second");
  cable.refuse();
  expect(await world.cancel(watch.id)).toBe(202);
  await endOf(world, watch, "canceled");
  cable.heal();
  await runner.givesUp(watch);
  expect(second.processes()).toEqual([]);
});
