/** The parts of a tree that are written out. */
import { expect, test } from "vitest";
import { writtenOut } from "../../../src/dashboard/prediction-view/branch.ts";

test("small parts of a tree are written out completely", () => {
  const inner = { b: [1, 2] };
  const root = { a: inner, c: 3 };
  expect(writtenOut(root)).toEqual(new Set([inner, inner.b]));
});

test("large and deep parts of a tree are not written out, and others still are", () => {
  const small = [1];
  const large = Array(301).fill(0);
  const deep = JSON.parse("[".repeat(20) + "]".repeat(20));
  expect(writtenOut({ large, deep, small })).toEqual(new Set([small]));
  expect(writtenOut([[large]])).toEqual(new Set());
});

test("at most 300 entries of a tree are written out", () => {
  const parts = Array.from({ length: 1_000 }, (_, n) => [n, n]);
  expect(writtenOut(parts).size).toBe(100);
});
