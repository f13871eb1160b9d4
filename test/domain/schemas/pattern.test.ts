import { describe, expect, test } from "vitest";
import { PatternMatcher } from "../../../src/domain/schemas/json-schema.ts";
import { Meter, TooCostly } from "../../../src/domain/schemas/json-schema-visit.ts";

describe("a pattern", () => {
  test.each([
    ["^#[0-9a-f]{6}$", "#00ff7f", "#00ff7g"],
    ["^(?<year>\\d{4})-(\\d{2})$", "2026-01", "2026-1"],
    ["^[\\w.+-]+@[\\w.-]+\\.[a-z]{2,}$", "a.b@c.example", "a b@c.example"],
    ["^(a+)+$", "aaaa", `${"a".repeat(5_000)}!`],
    ["^[\\p{L}🐈]+\\x2d$", "ä🐈-", "1-"],
    ["^[^\\\\s]$", "a", "s"],
  ])("the pattern %s matches the same texts in RE2 and JavaScript", (pattern, fitting, other) => {
    const native = new RegExp(pattern, "u");
    const matcher = new PatternMatcher(new Meter());
    for (const text of [fitting, other]) {
      const expected = text.length < 1_000 && native.test(text);
      expect([text, matcher.matches(pattern, text)]).toEqual([text, expected]);
    }
  });

  test.each([
    ...["^(?!x)a", "^(?=.*[A-Z])(?=.*\\d).{8,}$", "(?<=a)b", "(?<!a)b", "(a*)\\1"],
    ...["(?<a>a*)\\k<a>", "\\p{Script=Greek}", "\\p{C}", "[^\\p{C}]", "\\ud83d", "^\\S+$"],
    ...["^[^\\s]*$", "[\\\\\\s]", "^.$", "^\\\\.$", "[]", "[^]a[b]", "[[:alpha:]b[c]", "\\u0041"],
  ])("the pattern %s is left to the container", (pattern) => {
    expect(new RegExp(pattern, "u")).toBeDefined();
    expect(new PatternMatcher(new Meter()).matches(pattern, "a")).toBeUndefined();
  });

  test.each([
    "a{1001}",
    "(?:a{1000}){1000}",
    "(?:(?:(?:a{20}){20}){20}){20}",
    "(?:[\\p{L}\\p{N}]{20}){20}",
    "a{1000}".repeat(1_000),
    "(?:[a-z]{8}){1,900}",
    "a".repeat(10_000_000),
    `[${"a".repeat(1_000_000)}]`,
  ])("the pattern %.40s is too large to be compiled", (pattern) => {
    expect(new PatternMatcher(new Meter(20_000_000)).matches(pattern, "a")).toBeUndefined();
  });
});

describe("matching", () => {
  test.each([
    ["(?:(?:a+){16}){16}", "a".repeat(36), false],
    ["^(?:a?){200}a{200}$", "a".repeat(200), true],
    ["(a|b)*a(a|b){150}$", "ab".repeat(5_000), false],
    ["(a*)*x", "a".repeat(10_000), false],
  ])("matching %.40s ends, though a backtracking engine would not", (pattern, text, matches) => {
    expect(new PatternMatcher(new Meter()).matches(pattern, text)).toBe(matches);
  });

  test("the steps of matching 400 texts exceed those of a validation", () => {
    const matcher = new PatternMatcher(new Meter());
    const text = "ab".repeat(500);
    expect(() => {
      for (let n = 0; n < 400; n++) matcher.matches("(a|b)*a(a|b){150}$", text + n);
    }).toThrow(TooCostly);
  });

  test("an ordinary pattern is matched 10,000 times within the steps of a validation", () => {
    const matcher = new PatternMatcher(new Meter());
    for (let n = 0; n < 10_000; n++) {
      expect(matcher.matches("^#[0-9a-f]{6}$", `#${n.toString(16).padStart(6, "0")}`)).toBe(true);
    }
  });
});
