/** Lost runners: killed, stopped, cut off, and those that come back too late. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("a prediction runs again elsewhere when its runner is killed before any output", async () => {
  const first = await world.runner("first");
  const watch = await world.create("gated", { gate: "open", after: ["once"] });
  await watch.first("logs");
  await first.kill();
  await first.rests();
  const second = await world.runner("second");
  second.open("gated", "open");
  const full = await endOf(world, watch, "succeeded");
  expect(full.output).toEqual(["once"]);
  expect(watch.attempts).toHaveLength(2);
  expect(watch.dataOf("output")).toEqual(["once"]);
});

it("a prediction fails when its runner is killed after output was seen", async () => {
  const first = await world.runner("first");
  const watch = await world.create("gated", { before: ["seen"], gate: "open", after: ["never"] });
  await watch.first("output");
  const second = await world.runner("second");
  second.open("gated", "open");
  await first.kill();
  const { error } = await endOf(world, watch, "failed");
  const message = "The runner was lost after output had started.";
  expect(error).toMatchObject({ source: "internal", message });
  expect(watch.dataOf("output")).toEqual(["seen"]);
  expect(first.processes()).toEqual([]);
  expect(second.processes()).toEqual([]);
});

it("a runner that was stopped for longer than its lease is fenced", async () => {
  const zombie = await world.runner("zombie");
  // `running` still runs when the zombie wakes; `ended` has ended in the meantime.
  const running = await world.create("gated", { gate: "open", after: ["second's"] });
  await running.first("logs");
  const ended = await world.create("sums", { numbers: [1], mode: "slow", seconds: 1 });
  await ended.first("logs");
  zombie.signal("SIGSTOP");
  const second = await world.runner("second");
  second.open("gated", "open");
  const full = await endOf(world, running, "succeeded");
  expect(full.output).toEqual(["second's"]);
  await endOf(world, ended, "succeeded");
  zombie.signal("SIGCONT");
  await zombie.givesUp(running, ended);
  await zombie.rests("gated");
  for (const watch of [running, ended]) {
    const again = world.watch(watch.id);
    await again.ended;
    expect(again.events).toEqual(watch.events);
  }
});

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
