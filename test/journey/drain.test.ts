/** A runner that is stopped by a signal takes no more work. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  // A runner that stops also ends its poll. A job handed to an abandoned poll would wait for ten minutes,
  // and fail this test.
  world = await World.open({ variables: { CONNECT_SECONDS: "600" } });
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("a runner that is stopped finishes running predictions and hands back those that have not begun", async () => {
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
