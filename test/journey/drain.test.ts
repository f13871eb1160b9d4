/** Runners that take no more work: stopped by a signal, or drained by an operator. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  // A runner that stops also ends its poll. A job handed to an abandoned poll would wait the whole 60 s, and
  // fail these tests.
  world = await World.open({ variables: { CONNECT_SECONDS: "60" } });
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("a runner that is stopped finishes running predictions and hands back those that have not begun", {
  timeout: 30_000,
}, async () => {
  const first = await world.runner("first");
  const running = await world.create("gated", { before: ["a"], gate: "open", after: ["b"] });
  const starting = await world.create("slow", {});
  await running.first("output");
  await starting.until(({ data }) => JSON.stringify(data).includes("loading weights"));
  first.signal("SIGTERM");
  await first.says(/ draining /);
  const second = await world.runner("second");
  second.open("slow", "setup");
  const elsewhere = await endOf(world, starting, "succeeded");
  expect(elsewhere.output).toBe("ready at last");
  expect(starting.attempts).toHaveLength(2);
  expect(first.ended).toBe(false);
  first.open("gated", "open");
  const full = await endOf(world, running, "succeeded");
  expect(full.output).toEqual(["a", "b"]);
  await world.retire(first);
});

it("a runner takes no more work while an operator drains it, and takes it again", {
  timeout: 30_000,
}, async () => {
  const first = await world.runner("first", { slots: 8 });
  const [state] = (await world.runnerStates()).filter(({ name }) => name === first.name);
  const order = (verb: string) =>
    world.operator.fetch("POST", `/operator/runners/${state?.id}/${verb}`);
  expect((await order("drain")).status).toBe(200);
  await first.says(/paused by the control plane/);
  const second = await world.runner("second");
  await endOf(world, await world.create("hello", {}), "succeeded");
  expect(first.processes()).toEqual([]);
  expect(second.processes("hello")).not.toEqual([]);
  await world.retire(second);
  const waiting = await world.create("hello", {});
  expect((await order("resume")).status).toBe(200);
  await endOf(world, waiting, "succeeded");
  expect(first.processes("hello")).not.toEqual([]);
});
