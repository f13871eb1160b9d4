/** Predictions that fail: by the model, by its container, or by a deadline. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { endOf } from "./support/end.ts";
import type { Runner } from "./support/runner.ts";
import { World } from "./support/world.ts";

const SETUP_SECONDS = 4;

let world: World;
let runner: Runner;

beforeAll(async () => {
  world = await World.open({
    variables: {
      SETUP_TIMEOUT_SECONDS: String(SETUP_SECONDS),
    },
  });
  runner = await world.runner("one", { slots: 8 });
});
afterAll(() => world.close());

it("a failed prediction has the model's message, and the container is kept", async () => {
  const watch = await world.create("sums", { numbers: [1], mode: "fail" });
  const full = await endOf(world, watch, "failed");
  expect(full.error).toMatchObject({ source: "external", message: "Told to fail" });
  const before = runner.processes("sums");
  expect(before).not.toEqual([]);
  const next = await endOf(world, await world.create("sums", { numbers: [2, 3] }), "succeeded");
  expect(next.output).toMatchObject({ result: 5 });
  expect(runner.processes("sums")).toEqual(before);
});

it("a crashed container's last log lines are in the error, and the next prediction gets a new container", async () => {
  const watch = await world.create("sums", { numbers: [1], mode: "crash" });
  const { error } = await endOf(world, watch, "failed");
  expect(error?.source).toBe("external");
  expect(error?.message).toMatch(/exited with code 1:\n[\s\S]*Told to crash/);
  await endOf(world, await world.create("sums", { numbers: [1] }), "succeeded");
});

it("a failed prediction has the logs of a setup that fails", async () => {
  const watch = await world.create("broken", {});
  const { error } = await endOf(world, watch, "failed");
  expect(error?.source).toBe("external");
  expect(error?.message).toMatch(/setup failed:\nlooking for weights.bin\nError: weights.bin is/);
  expect(JSON.stringify(watch.dataOf("setup"))).toContain("looking for weights.bin");
  await runner.rests("broken");
});

it.concurrent("a run ends at its deadline, with its container", async () => {
  const { error } = await endOf(world, await world.create("hasty", {}), "failed");
  const message = "The model did not finish within 1 s.";
  expect(error).toMatchObject({ source: "external", message });
  await runner.rests("hasty");
});

it.concurrent("a setup ends at its deadline, with its container", async () => {
  const watch = await world.create("slow", {});
  const { error } = await endOf(world, watch, "failed");
  const message = `The container was not ready within ${SETUP_SECONDS} s.`;
  expect(error).toMatchObject({ source: "external", message });
  expect(JSON.stringify(watch.dataOf("setup"))).toContain("loading weights");
  await runner.rests("slow");
});
