/** JSON that does not outgrow what it tells. */
import { expect, test } from "vitest";
import { readableJson } from "../../src/lib/text.ts";
import type { Json } from "../../src/protocol/common.ts";

const nested = (levels: number): Json => JSON.parse("[".repeat(levels) + "]".repeat(levels));

test("what is flat is indented", () => {
  expect(readableJson({ a: [1], b: {} })).toBe(JSON.stringify({ a: [1], b: {} }, null, 2));
  expect(readableJson("text")).toBe('"text"');
});

test("what is deep is as long as it is, and no longer", () => {
  expect(readableJson(nested(128))).toHaveLength(256);
});
