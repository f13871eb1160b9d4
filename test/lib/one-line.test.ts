/** The beginning of a text on one line. */
import fc from "fast-check";
import { expect, test } from "vitest";
import { oneLine } from "../../src/lib/text.ts";

const MAX = 20;

test("a text that fits is kept, on one line", () => {
  expect(oneLine("  A fox\r\n\t in\u2028 snow ", MAX)).toBe("A fox in snow");
  expect(oneLine("x".repeat(MAX), MAX)).toBe("x".repeat(MAX));
  expect(oneLine(`${" ".repeat(500)}A fox`, MAX)).toBe("A fox");
});

test("a text is cut after a word, or in a long word after a whole character", () => {
  expect(oneLine("A fox sleeps in deep snow", MAX)).toBe("A fox sleeps in…");
  expect(oneLine("x".repeat(50), MAX)).toBe(`${"x".repeat(MAX - 1)}…`);
  const family = "👨‍👩‍👧‍👦";
  expect(oneLine(family.repeat(9), MAX)).toBe(`${family}…`);
});

test("control characters and overrides of the direction are left out", () => {
  expect(oneLine("a\u202Eb\u2066c\u0000d\u001B[31m", MAX)).toBe("abcd[31m");
});

test("any text becomes one well-formed line of at most so many characters", () => {
  const texts = fc.string({ unit: "binary", maxLength: 200 });
  fc.assert(
    fc.property(texts, fc.integer({ min: 1, max: 100 }), (text, most) => {
      const line = oneLine(text, most);
      expect(line.length).toBeLessThanOrEqual(most);
      expect(line.isWellFormed()).toBe(true);
      expect(line).not.toMatch(/[\p{Cc}\u2028\u2029\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u);
      expect(line).toBe(line.trim());
    }),
  );
});
