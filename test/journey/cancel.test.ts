/** Predictions that are canceled by a call, or because their creator's wait has elapsed. */
import { afterAll, beforeAll, expect, it } from "vitest";
import { predictionWithIO } from "../../src/protocol/prediction.ts";
import { USERNAME } from "./support/access.ts";
import { endOf } from "./support/end.ts";
import type { Runner } from "./support/runner.ts";
import { World } from "./support/world.ts";

let world: World;
let runner: Runner;

beforeAll(async () => {
  world = await World.open();
});
afterAll(() => world.close());

it("a prediction that waits for a runner is canceled at once, and never runs", async () => {
  const watch = await world.create("gated", { before: ["never"] });
  expect(await world.cancel(watch.id)).toBe(202);
  await endOf(world, watch, "canceled");
  expect(watch.events.map(({ event }) => event)).toEqual(["status", "status", "done"]);
  expect(await world.cancel(watch.id)).toBe(409);
  runner = await world.runner("one", { slots: 8 });
  await endOf(world, await world.create("hello", {}), "succeeded");
  expect(runner.processes("gated")).toEqual([]);
});

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

it("a cancel kills the container of a model that does not obey", async () => {
  const input = { numbers: [1], mode: "slow", seconds: 60, ignore_cancel: true };
  const watch = await world.create("sums", input);
  await watch.first("logs");
  expect(await world.cancel(watch.id)).toBe(202);
  await endOf(world, watch, "canceled");
  expect(runner.processes("sums")).toEqual([]);
});

it("a canceled stream keeps the output that it has brought", async () => {
  const watch = await world.create("gated", { before: ["a", "b"] });
  await watch.until(({ event, data }) => event === "output" && data === "b");
  expect(await world.cancel(watch.id)).toBe(202);
  const full = await endOf(world, watch, "canceled");
  expect(full.output).toEqual(["a", "b"]);
});

it("a prediction ends one way when a cancel meets the end of the run", async () => {
  const inputs = [0, 1, 2, 3].map((n) => ({ before: ["a"], gate: `race${n}`, after: ["b"] }));
  const watches = await Promise.all(inputs.map((input) => world.create("gated", input)));
  await Promise.all(watches.map((watch) => watch.first("output")));
  await Promise.all(
    watches.map(async (watch, n) => {
      runner.open("gated", `race${n}`);
      if (n % 2 === 1) await watch.until(({ data }) => data === "b");
      const answer = await world.cancel(watch.id);
      await watch.ended;
      const { status, output } = await world.get(watch.id);
      expect(["succeeded", "canceled"]).toContain(status);
      if (answer === 409) expect(status).toBe("succeeded");
      expect(output).toEqual(watch.dataOf("output"));
      await endOf(world, watch, status);
    }),
  );
});

it("a prediction goes on when its creator's wait elapses", async () => {
  const response = await create({ gate: "patience", after: ["late"] }, "wait=1");
  expect(response.status).toBe(202);
  expect(response.headers.get("preference-applied")).toBe("wait=1");
  const { id, status } = predictionWithIO.parse(await response.json());
  expect(status).toBe("started");
  runner.open("gated", "patience");
  const full = await endOf(world, world.watch(id), "succeeded");
  expect(full.output).toEqual(["late"]);
});

it("a prediction created with `wait=1, cancel` is canceled when the wait elapses", async () => {
  const response = await create({ before: ["early"] }, "wait=1, cancel");
  expect(response.headers.get("preference-applied")).toBe("wait=1, cancel");
  const { id } = predictionWithIO.parse(await response.json());
  await endOf(world, world.watch(id), "canceled");
});

const create = (input: Record<string, unknown>, prefer: string) =>
  world.client.fetch("POST", "/predictions", {
    body: { model: `${USERNAME}/gated`, input },
    headers: { prefer },
  });
