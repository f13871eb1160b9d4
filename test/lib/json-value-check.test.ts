import fc from "fast-check";
import { expect, test } from "vitest";
import { JsonValueCheck } from "../../src/lib/json-value-check.ts";

/** Feeds the text in pieces, as bytes arrive; pieces of one byte split escapes, too. */
function isValue(text: string, size = 3): boolean {
  const check = new JsonValueCheck();
  const bytes = new TextEncoder().encode(text);
  for (let at = 0; at < bytes.length; at += size)
    if (!check.feed(bytes.subarray(at, at + size))) return false;
  return check.complete;
}

test("any output of JSON.stringify is a JSON value", () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.integer({ min: 1, max: 9 }), (value, size) => {
      expect(isValue(JSON.stringify(value), size)).toBe(true);
    }),
  );
});

test.each([
  ["nothing", ""],
  ["a line feed", "1\n"],
  ["what is laid out in lines", '{\n  "a": 1\n}'],
  ["a line feed in a text", '"a\nb"'],
  ["a carriage return", "[1,\r2]"],
  ["an end of what is around it", '0}}\n{"type":"end"}'],
  ["the same in one line", '0},"status":{"a":0'],
  ["a further member", '0,"status":"failed"'],
  ["a member alone", '"status":"failed"'],
  ["a text that does not end", '"a'],
  ["a text that ends in an escape", '"a\\"'],
  ["an open bracket", "[[1]"],
  ["a closing bracket too many", "[1]]"],
  ["a line feed in an escape", '"a\\\n"'],
])("%s is no JSON value on one line", (_, text) => {
  for (const size of [1, 3, 100]) expect(isValue(text, size)).toBe(false);
});

test("brackets in a string do not count", () => {
  for (const size of [1, 2, 100]) expect(isValue('["}]\\"]]",{"a]":"[[{"}]', size)).toBe(true);
});
