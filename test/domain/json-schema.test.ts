/** A version's JSON Schema, and inputs held against it. */
import { describe, expect, test } from "vitest";
import { checkSchema, validateInput } from "../../src/domain/json-schema.ts";
import { ValidationFailure } from "../../src/domain/validation.ts";
import type { Json } from "../../src/protocol/common.ts";

type Schema = Record<string, Json>;

function schemaIssues(schema: Schema, input: Json) {
  try {
    validateInput(schema, input);
  } catch (error) {
    if (error instanceof ValidationFailure)
      return error.issues.map(({ loc, type }) => `${loc.join(".")} ${type}`);
    throw error;
  }
  return [];
}

const object = (properties: Schema, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});

describe("what a version's JSON Schema finds", () => {
  test.each<[string, Schema, Json, string[]]>([
    ["nothing", object({ a: { type: "string" } }), { a: "x" }, []],
    ["an empty schema allows all", {}, { a: [1] }, []],
    ["wrong type", object({ a: { type: "string" } }), { a: 1 }, ["body.input.a string_type"]],
    [
      "wrong type, others",
      object({ a: { type: "integer" }, b: { type: "array" }, c: { type: "object" } }),
      { a: "x", b: 1, c: 1 },
      ["body.input.a int_type", "body.input.b list_type", "body.input.c dict_type"],
    ],
    ["missing", object({}, { required: ["a"] }), {}, ["body.input.a missing"]],
    [
      "missing, each",
      object({}, { required: ["a", "b"] }),
      {},
      ["body.input.a missing", "body.input.b missing"],
    ],
    [
      "missing below",
      object({ a: object({}, { required: ["b"] }) }),
      { a: {} },
      ["body.input.a.b missing"],
    ],
    [
      "in a list",
      object({ a: { type: "array", items: { minimum: 2 } } }),
      { a: [2, 1] },
      ["body.input.a.1 greater_than_equal"],
    ],
    [
      "prefixItems",
      object({ a: { prefixItems: [{ enum: ["x"] }] } }),
      { a: ["y"] },
      ["body.input.a.0 enum"],
    ],
    [
      "$defs and $ref",
      { $defs: { n: { maximum: 3 } }, ...object({ a: { $ref: "#/$defs/n" } }) },
      { a: 4 },
      ["body.input.a less_than_equal"],
    ],
    [
      "length and pattern",
      object({ a: { maxLength: 1, pattern: "^a" } }),
      { a: "bb" },
      ["body.input.a string_too_long", "body.input.a string_pattern_mismatch"],
    ],
    [
      "a name with / and ~",
      object({ "a/b~c": { enum: [1] } }),
      { "a/b~c": 2 },
      ["body.input.a/b~c enum"],
    ],
    [
      "exclusive bounds",
      object({ a: { exclusiveMinimum: 0 } }),
      { a: 0 },
      ["body.input.a greater_than"],
    ],
  ])("%s", (_, schema, input, expected) => {
    expect(schemaIssues(schema, input)).toEqual(expected);
  });

  test("dependentRequired and unevaluatedProperties, which are new in 2019-09 and 2020-12", () => {
    expect(schemaIssues({ dependentRequired: { a: ["b"] } }, { a: 1 })).not.toEqual([]);
    expect(
      schemaIssues({ ...object({ a: {} }), unevaluatedProperties: false }, { a: 1, b: 2 }),
    ).not.toEqual([]);
  });

  test("a property that the schema does not know is named", () => {
    const issues = schemaIssues(object({}, { additionalProperties: false }), { b: 1 });
    expect(issues).toEqual(["body.input.b extra_forbidden"]);
  });

  test("every issue says something, and there are not more than anybody reads", () => {
    const schema = { type: "object", additionalProperties: { type: "string" } };
    const input = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]));
    expect(schemaIssues(schema, input).length).toBeLessThanOrEqual(20);
  });

  test("the alternatives of anyOf are summed up where they stand", () => {
    const issues = schemaIssues(object({ a: { anyOf: [{ type: "string" }, { type: "null" }] } }), {
      a: 1,
    });
    expect(issues.length).toBeGreaterThan(0);
    expect(new Set(issues.map((issue) => issue.split(" ")[0]))).toEqual(new Set(["body.input.a"]));
  });
});

describe("a schema that is published", () => {
  const check = (schema: Schema) => () => checkSchema(schema, ["body", "schema"]);

  test("is taken when it can be used, and is not changed by that", () => {
    const schema = { $defs: { n: { pattern: "^a" } }, ...object({ a: { $ref: "#/$defs/n" } }) };
    const before = structuredClone(schema);
    expect(check(schema)).not.toThrow();
    expect(schema).toEqual(before);
    expect(Object.getOwnPropertyNames(schema)).toEqual(Object.getOwnPropertyNames(before));
  });

  test.each<[string, Schema]>([
    ["a $ref to nothing", object({ a: { $ref: "#/$defs/none" } })],
    ["a $ref elsewhere", object({ a: { $ref: "https://example.com/schema.json" } })],
    ["a broken pattern", object({ a: { pattern: "(" } })],
    ["a broken pattern of names", { patternProperties: { "[": {} } }],
  ])("is refused with %s", (_, schema) => {
    expect(check(schema)).toThrow(ValidationFailure);
  });
});
