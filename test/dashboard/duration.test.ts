/** Durations in words. */
import { expect, test } from "vitest";
import { duration, longDuration } from "../../src/dashboard/ui/duration.ts";

test.each([
  [0, "0 ms"],
  [0.0124, "12 ms"],
  [0.099, "99 ms"],
  [0.0996, "0.1 s"],
  [1.26, "1.3 s"],
  [9.94, "9.9 s"],
  [9.96, "10 s"],
  [59.4, "59 s"],
  [59.6, "1 min 0 s"],
  [3_599, "59 min 59 s"],
  [3_600, "1 h 0 min"],
  [90_000, "25 h 0 min"],
])("the duration of %d s is written as %s", (seconds, text) =>
  expect(duration(seconds)).toBe(text),
);

test("a duration that goes on has no fractions", () => {
  expect([0, 9, 61].map(longDuration)).toEqual(["0 s", "9 s", "1 min 1 s"]);
});
