import { describe, expect, test } from "vitest";
import { Meter, TooCostly } from "../../../src/domain/schemas/json-schema-meter.ts";
import { toRe2 } from "../../../src/domain/schemas/pattern.ts";
import { PatternMatcher } from "../../../src/domain/schemas/pattern-matcher.ts";

describe("a pattern", () => {
  test.each([
    ["^#[0-9a-f]{6}$", "#00ff7f", "#00ff7g"],
    ["^(?<year>\\d{4})-(\\d{2})$", "2026-01", "2026-1"],
    ["^\\S+@\\S+\\.\\S+$", "a@b.example", "a b@c.example"],
    ["^(a+)+$", "aaaa", `${"a".repeat(5_000)}!`],
    ["^[\\p{L}\\u{1f408}]+\\x2d$", "ä🐈-", "1-"],
    ["^[^\\s]*$", "abc", "a\u2003b"],
    ["^.$", "🐈", "\u2028"],
    ["^[[:alpha:a]$", "[", "b"],
    ["^[]$", "never", ""],
    ["^[^]$", "\n", ""],
  ])("means what it means to JavaScript: %s", (pattern, fitting, other) => {
    const native = new RegExp(pattern, "u");
    const trials = new PatternMatcher(new Meter());
    for (const text of [fitting, other]) {
      const expected = text.length < 1_000 && native.test(text);
      expect([text, trials.matches(pattern, text)]).toEqual([text, expected]);
    }
  });

  test.each([
    "^(?!x)a",
    "^(?=.*[A-Z])(?=.*\\d).{8,}$",
    "(?<=a)b",
    "(?<!a)b",
    "(a*)\\1",
    "(?<a>a*)\\k<a>",
    "\\p{Script=Greek}",
    "\\p{C}",
    "(?i:a)",
    "\\ud83d",
  ])("that is beyond it is left to the container: %s", (pattern) => {
    expect(new RegExp(pattern, "u")).toBeDefined();
    expect(toRe2(pattern)).toBeUndefined();
  });

  test.each([
    "a{1001}",
    "(?:a{1000}){1000}",
    "(?:(?:(?:a{20}){20}){20}){20}",
    "(?:[\\p{L}\\p{N}]{20}){20}",
    "a{1000}".repeat(1_000),
    "(?:".repeat(200) + ")".repeat(200),
    "a".repeat(10_000_000),
    `[${"a".repeat(1_000_000)}]`,
  ])("that is too large is not even compiled: %.40s", (pattern) => {
    expect(toRe2(pattern)).toBeUndefined();
  });
});

describe("trials", () => {
  test.each([
    ["(?:(?:.+){16}){16}", "a".repeat(36), false],
    ["^(?:a?){200}a{200}$", "a".repeat(200), true],
    ["(a|b)*a(a|b){150}$", "ab".repeat(5_000), false],
    ["(.*)*x", "a".repeat(10_000), false],
  ])("of exponential patterns end: %.40s", (pattern, text, matches) => {
    expect(new PatternMatcher(new Meter()).matches(pattern, text)).toBe(matches);
  });

  test("are bounded in sum: 400 texts", () => {
    const trials = new PatternMatcher(new Meter());
    const text = "ab".repeat(500);
    expect(() => {
      for (let n = 0; n < 400; n++) trials.matches("(a|b)*a(a|b){150}$", text + n);
    }).toThrow(TooCostly);
  });

  test("of ordinary ones are many: 10,000", () => {
    const trials = new PatternMatcher(new Meter());
    for (let n = 0; n < 10_000; n++) {
      expect(trials.matches("^#[0-9a-f]{6}$", `#${n.toString(16).padStart(6, "0")}`)).toBe(true);
    }
  });
});
