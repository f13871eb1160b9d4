/** Signed addresses: a signature is valid only for the grant that was signed. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Grant,
  signGrant,
  signingKey,
  verifyGrant,
} from "../../../src/domain/files/signed-url.ts";
import {
  largestUpload,
  MAX_PARTS,
  partCount,
  partLength,
  partSizeFor,
} from "../../../src/protocol/upload.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const OTHER = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5f";
const EXPIRES = 1_800_000_000;
const PART: Grant = ["part", ID, 3, 16_777_216, OTHER];

const key = signingKey(new Uint8Array(32).fill(15));

test("a signature is 43 characters of base64url, the same each time", async () => {
  const signature = signGrant(key, PART, EXPIRES);
  expect(signature).toMatch(/^[\w-]{43}$/);
  expect(signGrant(key, PART, EXPIRES)).toBe(signature);
  expect(verifyGrant([key], PART, EXPIRES, signature)).toBe(true);
});

test.each<[string, Grant, number]>([
  ["another upload", ["part", OTHER, 3, 16_777_216, OTHER], EXPIRES],
  ["another part", ["part", ID, 4, 16_777_216, OTHER], EXPIRES],
  ["another length", ["part", ID, 3, 16_777_217, OTHER], EXPIRES],
  ["another holder", ["part", ID, 3, 16_777_216, ID], EXPIRES],
  ["no holder", ["part", ID, 3, 16_777_216, null], EXPIRES],
  ["a later end", PART, EXPIRES + 1],
  [
    "a digit that has wandered from one number to the next",
    ["part", ID, 31, 6_777_216, OTHER],
    EXPIRES,
  ],
  ["a file", ["file", ID], EXPIRES],
  ["a file whose name looks like a part", ["file", `${ID},3,16777216`], EXPIRES],
])("a signature is not valid for %s", async (_, grant, expires) => {
  const signature = signGrant(key, PART, EXPIRES);
  expect(verifyGrant([key], grant, expires, signature)).toBe(false);
});

test("a signature of one file is not valid for another, whatever their names contain", async () => {
  const name = fc.string({ minLength: 1, maxLength: 20 });
  await fc.assert(
    fc.asyncProperty(name, name, fc.nat(), fc.nat(), async (one, two, first, second) => {
      fc.pre(one !== two || first !== second);
      const signature = signGrant(key, ["file", one], first);
      expect(verifyGrant([key], ["file", two], second, signature)).toBe(false);
      expect(verifyGrant([key], ["file", one], first, signature)).toBe(true);
    }),
  );
});

test("a signature with another deployment's key is refused, and no wrong signature throws", async () => {
  const foreign = signGrant(signingKey(new Uint8Array(32).fill(240)), PART, EXPIRES);
  for (const signature of [foreign, "A".repeat(43), "-_".repeat(21), ""]) {
    expect(verifyGrant([key], PART, EXPIRES, signature)).toBe(false);
  }
});

test("a signature of an older key is valid while that key is listed", async () => {
  const older = signingKey(new Uint8Array(32).fill(240));
  const signature = signGrant(older, PART, EXPIRES);
  expect(verifyGrant([key, older], PART, EXPIRES, signature)).toBe(true);
  expect(verifyGrant([key], PART, EXPIRES, signature)).toBe(false);
});

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
