/** JSON that does not outgrow what it tells. */
import { expect, test } from "vitest";
import { isDeeper, MAX_LEVELS, readableJson } from "../../src/domain/json-text.ts";
import type { Json } from "../../src/protocol/common.ts";

const nested = (levels: number): Json => JSON.parse("[".repeat(levels) + "]".repeat(levels));

test("what is flat is indented", () => {
  expect(readableJson({ a: [1], b: {} })).toBe(JSON.stringify({ a: [1], b: {} }, null, 2));
  expect(readableJson("text")).toBe('"text"');
});

test("what is deep is as long as it is, and no longer", () => {
  expect(readableJson(nested(MAX_LEVELS))).toHaveLength(2 * MAX_LEVELS);
});

test("depth is told of any", () => {
  expect(isDeeper(nested(3), 3)).toBe(false);
  expect(isDeeper(nested(4), 3)).toBe(true);
  expect(isDeeper([[[1]]], 2)).toBe(true);
  expect(isDeeper(nested(100_000), MAX_LEVELS)).toBe(true);
  expect(isDeeper(null, 0)).toBe(false);
});
