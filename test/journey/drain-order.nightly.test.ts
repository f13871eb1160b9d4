/** A runner that an operator drains. */
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

it("a runner takes no more work while an operator drains it, and takes it again", async () => {
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
