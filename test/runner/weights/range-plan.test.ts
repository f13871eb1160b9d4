/** The ranges that a file is fetched in: all of it once, and missing ones. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  frontRange,
  missingRanges,
  rangeAt,
  rangeBytes,
  rangeCount,
} from "../../../runner/src/weights/range-plan.ts";

const MIB = 1024 ** 2;
const GIB = 1024 ** 3;

test.each([
  [1, 8 * MIB],
  [8 * MIB, 8 * MIB],
  [256 * MIB, 8 * MIB],
  [256 * MIB + 1, 9 * MIB],
  [GIB, 32 * MIB],
  [2 * GIB, 64 * MIB],
  [900 * GIB, 64 * MIB],
])("a file of %i bytes is cut into ranges of %i", (size, bytes) => {
  expect(rangeBytes(size)).toBe(bytes);
});

test("ranges cover a file of any size, without gaps and overlaps", () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 1, max: 100_000 }),
      fc.integer({ min: 1, max: 9_000 }),
      (size, bytes) => {
        const count = rangeCount(size, bytes);
        let next = 0;
        for (let index = 0; index < count; index++) {
          const { first, last } = rangeAt(index, size, bytes);
          expect(first).toBe(next);
          expect(last).toBeGreaterThanOrEqual(first);
          next = last + 1;
        }
        expect(next).toBe(size);
      },
    ),
  );
});

test("the missing ranges and the readable beginning of a file fit together", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 40 }), fc.array(fc.nat(39)), (size, numbers) => {
      const come = new Set(numbers.filter((index) => index < size));
      const missing = missingRanges(size, 1, come);
      expect(missing.length + come.size).toBe(size);
      expect(missing).toEqual(missing.toSorted((a, b) => a - b));
      expect(frontRange(size, come)).toBe(missing[0] ?? size);
    }),
  );
});
