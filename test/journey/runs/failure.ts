/** Predictions that fail: by the model, by its container, or by a deadline. */
import { expect, it } from "vitest";
import { endOf } from "../support/end.ts";
import { runner, world } from "../support/shared.ts";

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

it("a run ends at its deadline, with its container", async () => {
  const { error } = await endOf(world, await world.create("hasty", {}), "failed");
  const message = "The model did not finish within 1 s.";
  expect(error).toMatchObject({ source: "external", message });
  await runner.rests("hasty");
});
