/** Which patterns may be tried on how long a text; that what may be is done soon. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { MAX_TRIED_CHARS, triedLength } from "../../src/domain/pattern-cost.ts";

describe("a pattern", () => {
  test.each([
    "",
    "^b",
    "^#[0-9a-f]{6}$",
    "^\\d+(\\.\\d+)?$",
    "^[a-z0-9]+(?:-[a-z0-9]+)*$",
    "^(a|b)*$",
    "^(?:\\d{1,3}\\.){3}\\d{1,3}$",
    "^(?:[0-9A-F]{2}:){5}[0-9A-F]{2}$",
    "^(?<year>\\d{4})-(\\d{2})$",
    "^[^@]+@[^@]+\\.[^@]+$",
    "\\.(png|jpg|jpeg)$",
    "^https?://.+\\..+$",
  ])("that is ordinary may be tried: %s", (pattern) => {
    expect(triedLength(pattern)).toBe(MAX_TRIED_CHARS);
  });

  test.each([
    "^\\S+@\\S+\\.\\S+$",
    "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$",
    "a*a*a*a*a*b",
    "^(?=.*[A-Z])(?=.*\\d).{8,}$",
    "^[\\p{L}\\u{1f408}]+\\x2d(?!x)$",
  ])("that takes the text's length to some power is tried on short ones: %s", (pattern) => {
    const length = triedLength(pattern);
    expect(length).toBeGreaterThan(10);
    expect(length).toBeLessThan(MAX_TRIED_CHARS);
  });

  test.each([
    "^(a+)+$",
    "^(a|a)*$",
    "^(a|aa)+$",
    "^(a|[^b])+$",
    "^(\\u{61}|a)+$",
    "^(\\s|\\u00a0)+$",
    "^([ä]|\\p{L})+$",
    "(.*)*x",
    "^(a?){30}a{30}$",
    "^(\\w+\\s?)*$",
    "^(a{1,9}){99}$",
    `^${"(a|a)".repeat(40)}$`,
    `^${"a?".repeat(30)}${"a".repeat(30)}$`,
    "^((?=a*)a)*$",
    "(a*)\\1",
    "(?<a>a*)\\k<a>",
    "(".repeat(200) + ")".repeat(200),
    "(?:(?:(?:(?:){16}){16}){16}){16}",
    "a".repeat(600),
  ])("that may take exponential time, or is too large to tell, is not tried: %s", (pattern) => {
    expect(triedLength(pattern)).toBe(0);
  });
});

/** Patterns over two letters: where something is ambiguous, it is so at once. */
const { pattern: anyPattern } = fc.letrec<{ pattern: string }>((tie) => ({
  pattern: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom("a", "b", ".", "[ab]", "[^a]", "^", "$", "\\b", "ab"),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => a + b),
    fc.tuple(tie("pattern"), tie("pattern")).map(([a, b]) => `(?:${a}|${b})`),
    fc
      .tuple(tie("pattern"), fc.constantFrom("*", "+", "?", "{3}", "{20}", "{2,}", "{0,9}", "*?"))
      .map(([a, times]) => `(${a})${times}`),
    tie("pattern").map((a) => `(?=${a})`),
    tie("pattern").map((a) => `(?<!${a})`),
  ),
}));

test("what may be tried is done soon, however long the text that is allowed", () => {
  const letters = fc.constantFrom("a", "b", "ab", "aab", "!");
  fc.assert(
    fc.property(anyPattern, letters, letters, (pattern, unit, end) => {
      const length = triedLength(pattern);
      const text = unit.repeat(length).slice(0, Math.max(length - end.length, 0)) + end;
      const begun = performance.now();
      new RegExp(pattern, "u").test(text.slice(0, length));
      expect(performance.now() - begun).toBeLessThan(1_000);
    }),
    { numRuns: 1_000 },
  );
});
