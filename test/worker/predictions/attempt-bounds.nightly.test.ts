/** Bounds of what one attempt may report, of every kind. */
import { beforeEach, expect, test } from "vitest";
import type { ReportedEvent } from "../../../src/protocol/event.ts";
import { storeValue } from "../support/files.ts";
import { type FloodedAttempt, floodedAttempt, many, NOTHING, TOO_MUCH } from "../support/flood.ts";

let attempt: FloodedAttempt;

beforeEach(async () => {
  attempt = await floodedAttempt();
});

test("stored outputs count toward the 200,000 of an attempt", { timeout: 60_000 }, async () => {
  expect(await attempt.flood(many(10_000, NOTHING), 19)).toBe(19);
  expect(await attempt.isKept(many(9_999, NOTHING))).toBe(true);
  const stored = await storeValue(attempt.run.runner, attempt.run.job, "a");
  expect(await attempt.isKept([stored])).toBe(true);
  expect(await attempt.isKept([stored])).toBe(false);
  expect(await attempt.read()).toMatchObject(TOO_MUCH);
});

test("a prediction returns 200,000 outputs as the runner reported them", {
  timeout: 60_000,
}, async () => {
  expect(await attempt.flood(many(10_000, { event: "output", data: 1 }), 20)).toBe(20);
  await attempt.end("items");
  const { status, output } = await attempt.read();
  expect([status, output]).toEqual(["succeeded", Array(200_000).fill(1)]);
});

test("metrics of an attempt are bounded", { timeout: 60_000 }, async () => {
  const metrics = { tokens: 1, ["n".repeat(90)]: 1 };
  const kept = await attempt.flood(many(3_000, { event: "metrics", data: metrics }), 100);
  expect(kept).toBeGreaterThan(40);
  expect(kept).toBeLessThan(100);
  expect(await attempt.read()).toMatchObject(TOO_MUCH);
});

const WORDS = "n".repeat(1_900);

test.each<[string, ReportedEvent]>([
  ["progress", { event: "setup", data: { phase: "pulling" } }],
  ["metrics without one", { event: "metrics", data: {} }],
])("reports of %s are bounded", { timeout: 60_000 }, async (_, event) => {
  // A runner sends at most `MAX_NOTES` (250,000) such events; the bound is a tenth higher.
  expect(await attempt.flood(many(10_000, event), 70)).toBe(27);
  expect(await attempt.read()).toMatchObject(TOO_MUCH);
});

test.each<[string, ReportedEvent]>([
  ["progress with many words", { event: "setup", data: { phase: "pulling", message: WORDS } }],
  [
    "progress with many words, and a letter of a log",
    { event: "setup", data: { phase: "starting", message: WORDS, logs: "a" } },
  ],
])("reports of %s reach the bound earlier", { timeout: 60_000 }, async (_, event) => {
  // Each of these events counts as twenty.
  expect(await attempt.flood(many(250, event), 200)).toBe(54);
  expect(await attempt.read()).toMatchObject(TOO_MUCH);
});
