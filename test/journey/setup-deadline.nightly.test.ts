/** A container that is not ready before its deadline, which is short. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import type { Runner } from "./support/runner.ts";
import { World } from "./support/world.ts";

const SETUP_SECONDS = 4;

let world: World;
let runner: Runner;

beforeAll(async () => {
  world = await World.open({ variables: { SETUP_TIMEOUT_SECONDS: String(SETUP_SECONDS) } });
  runner = await world.runner("one");
});
afterAll(() => world.close());

it("a setup ends at its deadline, with its container", async () => {
  const watch = await world.create("slow", {});
  const { error } = await endOf(world, watch, "failed");
  const message = `The container was not ready within ${SETUP_SECONDS} s.`;
  expect(error).toMatchObject({ source: "external", message });
  expect(JSON.stringify(watch.dataOf("setup"))).toContain("loading weights");
  await runner.rests("slow");
});
