import { expect, test } from "vitest";
import { EstimateTable } from "../../../../src/domain/scheduling/decide/estimates.ts";
import { Demand, HALF_LIFE_MS } from "../../../../src/domain/scheduling/decide/eviction-score.ts";
import { NOW } from "./samples.ts";

test("a few measures count alike", () => {
  const table = new EstimateTable();
  for (const run_ms of [1_000, 2_000, 6_000]) table.add("story", { run_ms });
  const { count, mean, variance } = table.run("story");
  expect([count, mean]).toEqual([3, 3_000]);
  expect(variance).toBeCloseTo((4 + 1 + 9) / 3 / 1e-6);
});

test("old measures fade, so a new value is soon expected after a change", () => {
  const table = new EstimateTable();
  for (let n = 0; n < 500; n += 1) table.add("story", { run_ms: 10_000 });
  for (let n = 0; n < 150; n += 1) table.add("story", { run_ms: 1_000 });
  expect(table.run("story").mean).toBeLessThan(1_500);
  expect(table.run("story").count).toBe(50);
});

test("a key that was never measured is expected to take the average of all keys", () => {
  const table = new EstimateTable();
  table.add("story", { setup_ms: 40_000 });
  table.add("voice", { setup_ms: 20_000 });
  expect(table.setup("new").mean).toBe(30_000);
  // The run time of `new` was measured, its setup was not.
  table.add("new", { run_ms: 100 });
  expect(table.setup("new").mean).toBe(30_000);
});

test("estimates of the 5,000 keys that were used last are kept", () => {
  const table = new EstimateTable();
  for (let n = 0; n < 5_001; n += 1) table.add(`key-${n}`, { run_ms: n + 1 });
  const { keys } = table.save();
  expect(keys.length).toBe(5_000);
  expect(keys[0]?.[0]).toBe("key-1");
  const demand = new Demand();
  for (let n = 0; n < 5_001; n += 1) demand.add(`key-${n}`, NOW);
  expect(demand.save().length).toBe(5_000);
  expect(demand.of("key-0", NOW)).toBe(0);
});

test("demand is the number of asks, each of which counts half after a while", () => {
  const demand = new Demand();
  demand.add("story", NOW);
  demand.add("story", NOW + HALF_LIFE_MS);
  expect(demand.of("story", NOW + HALF_LIFE_MS)).toBeCloseTo(1.5);
  expect(demand.of("story", NOW + 2 * HALF_LIFE_MS)).toBeCloseTo(0.75);
});

test("a job from before a restart does not age the demand that came since", () => {
  const demand = new Demand();
  demand.add("story", NOW);
  demand.add("story", NOW - HALF_LIFE_MS);
  expect(demand.of("story", NOW)).toBeCloseTo(2);
});
