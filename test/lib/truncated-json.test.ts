/** The beginning of a large value, wherever it was cut. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { readTruncatedJson } from "../../src/lib/truncated-json.ts";

test("of a text it is the beginning of the text, wherever the cut falls", () => {
  const nasty = fc.string({
    unit: fc.constantFrom("\\", '"', "\n", "é", "\u{1f600}", "\0", "u0", "a"),
  });
  fc.assert(
    fc.property(nasty, fc.nat(), (text, n) => {
      const json = JSON.stringify(text).slice(0, -1);
      const read = readTruncatedJson(json.slice(0, 1 + (n % json.length)));
      expect(text.startsWith(read)).toBe(true);
      expect(read.isWellFormed()).toBe(true);
    }),
    { numRuns: 2_000 },
  );
  expect(readTruncatedJson('"all of it')).toBe("all of it");
});

test("of everything else it is JSON as it is", () => {
  expect(readTruncatedJson('{"a": [1, 2')).toBe('{"a": [1, 2');
});
