/** Signed addresses: a signature is valid only for the grant that was signed. */
import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type Grant,
  signGrant,
  signingKey,
  verifyGrant,
} from "../../../src/domain/files/signed-url.ts";

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
