/** Lost runners: killed, stopped, cut off, and those that come back too late. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import type { Runner } from "./support/runner.ts";
import type { Watch } from "./support/watch.ts";
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
  await givesUp(zombie, running, ended);
  await zombie.rests("gated");
  for (const watch of [running, ended]) {
    const again = world.watch(watch.id);
    await again.ended;
    expect(again.events).toEqual(watch.events);
  }
});

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
  await givesUp(zombie, watch);
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
  await givesUp(runner, watch);
  expect(second.processes()).toEqual([]);
});

/**
 * Waits until the runner logs that it is fenced or lost. A runner that was away for two leases stops asking.
 */
async function givesUp(runner: Runner, ...watches: Watch[]): Promise<void> {
  for (const { id } of watches) await runner.says(new RegExp(` (fenced|lost) .*${id}`));
}
