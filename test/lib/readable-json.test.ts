/** Readable JSON whose size is bounded by its content. */
import { expect, test } from "vitest";
import { readableJson } from "../../src/lib/text.ts";
import type { Json } from "../../src/protocol/common.ts";

const nested = (levels: number): Json => JSON.parse("[".repeat(levels) + "]".repeat(levels));

test("flat JSON is indented", () => {
  expect(readableJson({ a: [1], b: {} })).toBe(JSON.stringify({ a: [1], b: {} }, null, 2));
  expect(readableJson("text")).toBe('"text"');
});

test("deep JSON is written without indentation", () => {
  expect(readableJson(nested(128))).toHaveLength(256);
});
