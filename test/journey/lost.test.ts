/** Lost runners: killed, and stopped until it is too late. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  world = await World.open();
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("a killed runner's prediction runs again elsewhere before any output, and fails after output was seen", async () => {
  const first = await world.runner("first");
  const unseen = await world.create("gated", { gate: "open", after: ["once"] });
  const seen = await world.create("gated", { before: ["seen"], gate: "open", after: ["never"] });
  await unseen.first("logs");
  await seen.first("output");
  await first.kill();
  await first.rests();
  const second = await world.runner("second");
  second.open("gated", "open");
  const full = await endOf(world, unseen, "succeeded");
  expect(full.output).toEqual(["once"]);
  expect(unseen.attempts).toHaveLength(2);
  expect(unseen.dataOf("output")).toEqual(["once"]);
  const { error } = await endOf(world, seen, "failed");
  const message = "The runner was lost after output had started.";
  expect(error).toMatchObject({ source: "internal", message });
  expect(seen.attempts).toHaveLength(1);
  expect(seen.dataOf("output")).toEqual(["seen"]);
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
