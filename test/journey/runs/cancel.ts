/** Canceled predictions, and what becomes of their containers. */
import { expect, it } from "vitest";
import { endOf } from "../support/end.ts";
import { runner, world } from "../support/shared.ts";

it("a prediction whose container starts is canceled at once; the container serves the next prediction", async () => {
  const watch = await world.create("slow", {});
  await watch.until(({ data }) => JSON.stringify(data).includes("loading weights"));
  const loading = runner.processes("slow");
  expect(await world.cancel(watch.id)).toBe(202);
  const full = await endOf(world, watch, "canceled");
  expect(full.setup_time).toBeNull();
  const next = await world.create("slow", {});
  runner.open("slow", "setup");
  const { output } = await endOf(world, next, "succeeded");
  expect(output).toBe("ready at last");
  expect(runner.processes("slow")).toEqual(loading);
});

it("a running prediction is canceled; a model that obeys keeps its container", async () => {
  const watch = await world.create("sums", { numbers: [1], mode: "slow", seconds: 60 });
  await watch.first("logs");
  const before = runner.processes("sums");
  expect(await world.cancel(watch.id)).toBe(202);
  const full = await endOf(world, watch, "canceled");
  expect(full.output).toBeNull();
  await endOf(world, await world.create("sums", { numbers: [1] }), "succeeded");
  expect(runner.processes("sums")).toEqual(before);
});

it("a canceled stream keeps the output that it has brought", async () => {
  const watch = await world.create("gated", { before: ["a", "b"] });
  await watch.until(({ event, data }) => event === "output" && data === "b");
  expect(await world.cancel(watch.id)).toBe(202);
  const full = await endOf(world, watch, "canceled");
  expect(full.output).toEqual(["a", "b"]);
});
