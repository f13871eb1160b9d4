/** Estimates of few runs, and in the playground. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { newBudget } from "../support/budgets.ts";
import { newDashboardUser } from "../support/dashboard-users.ts";
import { created, estimateOf, runs, setPrice } from "../support/estimates.ts";
import { eventually } from "../support/eventually.ts";
import { rowOf } from "../support/objects.ts";
import { startClock, stopClock } from "../support/time.ts";
import { Visitor } from "../support/visitor.ts";
import { newWorld } from "../support/world.ts";

beforeEach(stopClock);
afterEach(startClock);

describe("an estimate", () => {
  test("four runs are too few for a range, and runs of another account or that failed do not count", async () => {
    const world = await newWorld({ visibility: "public" });
    await setPrice(world);
    await runs(world, [1, 1, 1, 1]);
    expect(await estimateOf(world.client, world.model)).toMatchObject({
      ...{ basis: "none", runs: 4, cost: null },
    });
    const failed = await world.waiting();
    await world.client.cancel(failed);
    await eventually(async () => expect((await rowOf(failed))?.status).toBe("canceled"));
    expect((await estimateOf(world.client, world.model)).runs).toBe(4);
    expect((await estimateOf(await world.stranger(), world.model)).runs).toBe(0);
  });
});

test("the playground shows the estimate beside Run, from one's own runs where they are enough", async () => {
  const { client, visitor } = await newDashboardUser();
  const world = await newWorld({ visibility: "public" });
  await setPrice(world);
  const shown = async (by = visitor) => {
    const { html } = await by.look(`/models/${world.model}?view=form`);
    return /<p[^>]*data-estimate.*?<\/p>/s.exec(html)?.[0].replaceAll(/<[^>]+>/g, "");
  };
  expect(await shown()).toBeUndefined();
  await runs(
    { ...world, waiting: (input) => created(client, world.model, input) },
    [1, 2, 3, 4, 5],
  );
  expect(await shown()).toBe("~$0.003, ~3.0 s (8 of 10 runs: $0.001–$0.005, 1.0 s–5.0 s)");
  expect(await shown(new Visitor())).toBeUndefined();
});

describe("an estimate says whether a create would be admitted", () => {
  test("the playground says why a budget would refuse the run", async () => {
    const { client, visitor } = await newDashboardUser();
    const world = await newWorld({ visibility: "public" });
    await setPrice(world);
    const shown = async () => {
      const { html } = await visitor.look(`/models/${world.model}?view=form`);
      return /<p[^>]*data-refusal.*?<\/p>/s.exec(html)?.[0];
    };
    await newBudget(client, { limit: "9000" });
    expect(await shown()).toBeUndefined();
    await newBudget(client, { limit: "0.05", window: "day" });
    expect(await shown()).toContain("0.05 USD of 0.05 USD per day is left");
  });
});
