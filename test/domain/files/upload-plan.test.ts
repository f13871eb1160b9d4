/** The parts of uploads: equal except the last, at most 10,000, and limited in size. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { largestUpload, partCount, partSizeFor } from "../../../src/domain/files/upload-plan.ts";
import { MAX_PARTS, partLength } from "../../../src/protocol/upload.ts";

const MIB = 1024 ** 2;
const SIZES = { usual: 16 * MIB, largest: 95 * MIB };
const MOST = largestUpload(SIZES);

test.each([
  [1, 16 * MIB, 1],
  [16 * MIB, 16 * MIB, 1],
  [16 * MIB + 1, 16 * MIB, 2],
  [MAX_PARTS * 16 * MIB, 16 * MIB, MAX_PARTS],
  [MAX_PARTS * 16 * MIB + 1, 17 * MIB, Math.ceil((MAX_PARTS * 16 + 1) / 17)],
  [MAX_PARTS * 95 * MIB, 95 * MIB, MAX_PARTS],
])("an upload of %i bytes has parts of %i bytes, %i of them", (size, partSize, count) => {
  expect(partSizeFor(size, SIZES)).toBe(partSize);
  expect(partCount(size, partSize)).toBe(count);
});

test.each([MOST + 1, Number.MAX_SAFE_INTEGER])("an upload of %i bytes is too large", (size) => {
  expect(partSizeFor(size, SIZES)).toBeUndefined();
});

test("parts have one size, so an upload fits if it fits into 10,000 parts of it", () => {
  const fixed = { usual: 5 * MIB, largest: 5 * MIB };
  expect(largestUpload(fixed)).toBe(MAX_PARTS * 5 * MIB);
  expect(partSizeFor(MAX_PARTS * 5 * MIB, fixed)).toBe(5 * MIB);
  expect(partSizeFor(MAX_PARTS * 5 * MIB + 1, fixed)).toBeUndefined();
});

test("the parts of an upload add up to its size", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: MOST }), (size) => {
      const partSize = partSizeFor(size, SIZES) ?? 0;
      const count = partCount(size, partSize);
      const last = partLength(size, partSize, count);
      expect(partSize).toBeGreaterThanOrEqual(SIZES.usual);
      expect(partSize).toBeLessThanOrEqual(SIZES.largest);
      expect(count).toBeLessThanOrEqual(MAX_PARTS);
      expect(last).toBeGreaterThan(0);
      expect((count - 1) * partSize + last).toBe(size);
      if (count > 1) expect(partLength(size, partSize, 1)).toBe(partSize);
    }),
  );
});
