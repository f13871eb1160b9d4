import { expect, test } from "vitest";
import {
  newUserCode,
  shownUserCode,
  typedUserCode,
} from "../../../src/domain/accounts/user-code.ts";

test("codes have eight of twenty consonants, each equally often", () => {
  const codes = Array.from({ length: 5_000 }, newUserCode);
  expect(new Set(codes).size).toBe(codes.length);
  const counts = new Map<string, number>();
  for (const letter of codes.join("")) counts.set(letter, (counts.get(letter) ?? 0) + 1);
  expect([...counts.keys()].sort().join("")).toBe("BCDFGHJKLMNPQRSTVWXZ");
  expect(codes.every((code) => code.length === 8)).toBe(true);
  // The standard deviation of 40,000 letters is 44.
  for (const count of counts.values()) expect(Math.abs(count - 2_000)).toBeLessThan(300);
});

test("a code is read as people type it", () => {
  expect(shownUserCode("BCDFGHJK")).toBe("BCDF-GHJK");
  for (const typed of ["BCDF-GHJK", "bcdfghjk", " bcdf ghjk ", "BCDF–GHJK"])
    expect(typedUserCode(typed)).toBe("BCDFGHJK");
});
