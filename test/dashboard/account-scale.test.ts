/** The scale of the usage chart. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { scaleMaximum, stack } from "../../src/dashboard/account/scale.ts";

test.each([
  [0, 2],
  [1, 2],
  [2, 2],
  [3, 4],
  [9, 10],
  [10, 10],
  [11, 20],
  [99, 100],
  [100, 100],
  [101, 200],
  [450, 600],
  [12_345, 20_000],
])("the chart of %i ends at %i", (most, ceiling) => {
  expect(scaleMaximum(most)).toBe(ceiling);
});

test("any numbers fit below the ceiling, and half of the ceiling is an integer", () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: 1e12 }), (most) => {
      const ceiling = scaleMaximum(most);
      expect(ceiling).toBeGreaterThanOrEqual(most);
      expect(ceiling % 2).toBe(0);
      expect(ceiling).toBeLessThanOrEqual(Math.max(2, 2 * most));
    }),
  );
});

test("the parts of a bar are stacked, without those that are 0", () => {
  expect(stack([5, 0, 2], 10, 100)).toEqual([
    { n: 0, y: 50, height: 50 },
    { n: 2, y: 30, height: 20 },
  ]);
  expect(stack([0, 0], 2, 100)).toEqual([]);
});
