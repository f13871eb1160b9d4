import { expect, test } from "vitest";
import { runEstimateOf } from "../../../src/domain/models/run-estimate.ts";

/** The price of a run of so many milliseconds. */
const price = (ms: number) => ms * 500;

const report = { isWarm: true, hasRoom: true, isServed: true, setup_ms: 42_000, run_ms: 1_800 };

test("the price of a run is that of the time it takes", () => {
  expect(runEstimateOf(report, "model", price)).toEqual({
    state: "warm",
    setup_seconds: 42,
    run_seconds: 1.8,
    run_price: 900_000,
  });
});

test("a run has no price where that is not known or its time was never measured", () => {
  expect(runEstimateOf(report, "model", () => null).run_price).toBeNull();
  expect(runEstimateOf({ ...report, run_ms: null }, "model", price)).toMatchObject({
    run_seconds: null,
    run_price: null,
  });
});

test("a run that costs nothing has a price", () => {
  expect(runEstimateOf(report, "model", () => 0).run_price).toBe(0);
});

test("a pool that does not answer is taken for neither warm nor cold", () => {
  expect(runEstimateOf(undefined, "model", price)).toEqual({
    state: "unknown",
    setup_seconds: null,
    run_seconds: null,
    run_price: null,
  });
});

test("a model is never warm where each run has its own container", () => {
  expect(runEstimateOf(report, "prediction", price).state).toBe("cold");
  expect(runEstimateOf({ ...report, isWarm: false }, "account", price).state).toBe("cold");
});

test("a model is at capacity only when no container has room and none can be started", () => {
  const taken = { ...report, isWarm: false };
  expect(runEstimateOf(taken, "model", price).state).toBe("cold");
  const full = { ...taken, hasRoom: false };
  expect(runEstimateOf(full, "model", price).state).toBe("busy");
  expect(runEstimateOf(full, "prediction", price).state).toBe("busy");
  expect(runEstimateOf({ ...full, isWarm: true }, "model", price).state).toBe("warm");
  expect(runEstimateOf({ ...full, isServed: false }, "model", price).state).toBe("away");
});

test("no start is promised where no runner takes work", () => {
  expect(runEstimateOf({ ...report, isServed: false }, "model", price).state).toBe("away");
  expect(runEstimateOf({ ...report, isServed: true }, "model", price).state).toBe("warm");
});
