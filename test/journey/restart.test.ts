/** A control plane that is killed with -9 and comes back with its state. */
import { afterAll, afterEach, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import { World } from "./support/world.ts";

let world: World;

beforeAll(async () => {
  // workerd comes back within the lease, so no runner is lost.
  world = await World.open({ variables: { LEASE_SECONDS: "6" } });
});
afterEach(() => world.retireAll());
afterAll(() => world.close());

it("a running stream loses nothing when the control plane is killed, also after an earlier break", async () => {
  const cable = await world.cable();
  await world.runner("one", { url: cable.url });
  const input = { max_tokens: 150, seed: 3, delay_ms: 30 };
  const watch = await world.create("text-generation", input);
  await watch.until(({ id }) => id > 15);
  cable.cut();
  await watch.until(({ id }) => id > 50);
  world.killControlPlane();
  const full = await endOf(world, watch, "succeeded");
  expect(watch.breaks).toBeGreaterThan(0);
  expect(full.output).toEqual(watch.dataOf("output"));
  const same = await world.create("text-generation", { ...input, delay_ms: 0 });
  expect((await endOf(world, same, "succeeded")).output).toEqual(full.output);
});

it("a killed control plane still knows the waiting predictions", async () => {
  const waiting = await world.create("hello", { name: "survivor" });
  const first = await world.runner("first");
  await endOf(world, waiting, "succeeded");
  await world.retire(first);
  const watch = await world.create("gated", { gate: "open", after: ["done"] });
  world.killControlPlane();
  await watch.until(() => watch.breaks > 0);
  const second = await world.runner("second");
  second.open("gated", "open");
  await endOf(world, watch, "succeeded");
});
