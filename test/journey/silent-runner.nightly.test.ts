/** Runners whose network is silent or broken for a while. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("a runner whose network was silent for longer than its lease is fenced", async () => {
  const cable = await world.cable();
  const zombie = await world.runner("zombie", { url: cable.url });
  const watch = await world.create("gated", { gate: "open", after: ["second's"] });
  await watch.first("logs");
  cable.swallow();
  const second = await world.runner("second");
  second.open("gated", "open");
  const full = await endOf(world, watch, "succeeded");
  expect(full.output).toEqual(["second's"]);
  cable.heal();
  await zombie.givesUp(watch);
  await zombie.rests();
});

it("jobs go to a living runner while a dead runner's poll is still open", async () => {
  const cable = await world.cable();
  const dead = await world.runner("dead", { url: cable.url, slots: 8 });
  await endOf(world, await world.create("hello", {}), "succeeded");
  const living = await world.runner("living", { slots: 2 });
  // The pool prefers the dead runner, which has a warm container and more room.
  cable.swallow();
  const watches = await Promise.all([1, 2, 3, 4].map(() => world.create("hello", {})));
  for (const watch of watches) await endOf(world, watch, "succeeded");
  expect(watches.some(({ attempts }) => (attempts[0] ?? 0) > 1)).toBe(true);
  expect(living.processes("hello")).not.toEqual([]);
  expect(dead.lines.filter((line) => line.includes(" succeeded "))).toHaveLength(1);
});

it("a prediction whose channel is broken is canceled as soon as the runner is back", async () => {
  const cable = await world.cable();
  const runner = await world.runner("far", { url: cable.url });
  const watch = await world.create("sums", { numbers: [1], mode: "slow", seconds: 60 });
  await watch.first("logs");
  cable.refuse();
  expect(await world.cancel(watch.id)).toBe(202);
  expect(await world.get(watch.id)).toMatchObject({ status: "started" });
  cable.heal();
  await endOf(world, watch, "canceled");
  expect(runner.lines.join("\n")).toContain("cancel requested");
});
