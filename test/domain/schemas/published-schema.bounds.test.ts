/** Bounds on the cost of a validation. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { avalanche, object, type Schema, schemaIssues, wholeIssues } from "./json-schemas.ts";

describe("what a validation may cost", () => {
  test.each(["allOf", "anyOf", "oneOf"])(
    "a schema with %s that doubles at each level is refused",
    (keyword) => {
      const { $defs, ...first } = avalanche(keyword, 21, { type: "string" });
      expect(wholeIssues({ $defs: $defs ?? {}, ...object({ a: first }) }, { a: 1 })).toMatchObject([
        { loc: ["body", "input"], msg: expect.stringContaining("too expensive to check") },
      ]);
    },
  );

  test("each validation has its own budget", () => {
    const list = object({ a: { items: { type: "number" } } });
    const a = Array.from({ length: 90_000 }, (_, n) => n);
    expect(wholeIssues(list, { a })).toEqual([]);
    expect(wholeIssues(list, { a })).toEqual([]);
  });

  test("a long list of allowed values is charged for each item that it is compared with", () => {
    const schema = object({ a: { items: { enum: ["x", "y".repeat(90_000)] } } });
    const [issue] = wholeIssues(schema, { a: Array.from({ length: 10_000 }, () => "x") });
    expect(issue?.msg).toContain("too expensive to check");
  });

  test("a validation with too many issues names the first", () => {
    const schema = object({ a: object({ b: { items: { type: "string" } } }) });
    const b = Array.from({ length: 90_000 }, () => 1);
    expect(schemaIssues(schema, { a: { b } })[0]).toBe("body.input.a.b.0 string_type");
  });

  test("patterns are tried on 10,000 characters, uniqueItems on 1,000 items", () => {
    const schema = object({ a: { pattern: "^b" }, b: { uniqueItems: true } });
    const of = (length: number) => ({ a: "a".repeat(length), b: Array(length / 10).fill(1) });
    expect(schemaIssues(schema, of(10_000))).toEqual([
      "body.input.a string_pattern_mismatch",
      "body.input.b value_error",
    ]);
    expect(schemaIssues(schema, of(10_010))).toEqual([]);
  });

  const long = `${"a".repeat(34)}!`;

  test.each<[string, Schema, Json, string[]]>([
    ["a pattern", { pattern: "^(a+)+$" }, long, ["a string_pattern_mismatch"]],
    [
      "a pattern of names",
      { patternProperties: { "^(a+)+$": { minimum: 1 } }, additionalProperties: false },
      { [long]: 1, aa: 0 },
      ["a.aa greater_than_equal", `a.${long} extra_forbidden`],
    ],
    [
      "patterns of one name, and the name itself",
      {
        properties: { ab: { maximum: 9 } },
        patternProperties: { "^a": { minimum: 1 }, b$: { multipleOf: 5 } },
        additionalProperties: false,
      },
      { ab: 11 },
      ["a.ab less_than_equal", "a.ab multiple_of"],
    ],
    ["names", { propertyNames: { pattern: "^(a|a)+$" } }, { [long]: 1 }, ["a value_error"]],
    ["what must not be", { not: { items: { pattern: "^(a+)+$" } } }, ["a"], ["a value_error"]],
    [
      "a long name",
      { patternProperties: { "a[a-z]*b": {} }, additionalProperties: false },
      { ["a".repeat(1_000_000)]: 1 },
      [`a.${"a".repeat(1_000)}… extra_forbidden`],
    ],
  ])("%s that would take exponential time is tried in linear time", (_, a, value, issues) => {
    expect(schemaIssues(object({ a }), { a: value })).toEqual(
      issues.map((issue) => `body.input.${issue}`),
    );
  });

  test.each<[string, Schema, Json]>([
    ["a pattern", { pattern: "^(?!a)" }, "a"],
    [
      "a pattern of names",
      { patternProperties: { "^(?!a)": {} }, additionalProperties: false },
      { a: 1 },
    ],
    ["names", { propertyNames: { pattern: "(b)\\1" } }, { a: 1 }],
    ["what must not be", { not: { items: { pattern: "^(?=a)" } } }, ["a"]],
    // biome-ignore lint/suspicious/noThenProperty: a keyword, of a schema that nobody awaits.
    ["a condition", { if: { pattern: "^(?=b)" }, then: { maxLength: 1 } }, "bb"],
    ["a choice", { oneOf: [{ pattern: "^(?=b)" }, { pattern: "^b" }] }, "b"],
    ["a number", { contains: { pattern: "^(?=b)" }, maxContains: 1 }, ["b", "b"]],
  ])("%s that the engine does not take is left to the container", (_, a, value) => {
    expect(schemaIssues(object({ a, b: { pattern: "^b" } }), { a: value, b: "a" })).toEqual([
      "body.input.b string_pattern_mismatch",
    ]);
  });

  test("the costs of all branches are added up", () => {
    const schema = object({ a: { items: { pattern: "(x|y)*x(x|y){150}$" } } });
    const a = Array.from({ length: 400 }, (_, n) => `${"xy".repeat(500 + n)}y`);
    expect(wholeIssues(schema, { a })).toMatchObject([
      { loc: ["body", "input"], msg: expect.stringContaining("too expensive to check") },
    ]);
  });

  test("the format url is checked in linear time, like every other address", () => {
    const schema = object({ a: { format: "url" }, b: { format: "url" } });
    const a = `http://${"a".repeat(200)}!`;
    expect(schemaIssues(schema, { a, b: "x" })).toEqual(["body.input.b url_parsing"]);
  });
});
