/** Validation of inputs against a version's JSON Schema. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { object, type Schema, schemaIssues, wholeIssues } from "./json-schemas.ts";

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
      ["body.input.a string_pattern_mismatch", "body.input.a string_too_long"],
    ],
    [
      "a name with / and ~",
      object({ "a/b~c": { enum: [1] } }),
      { "a/b~c": 2 },
      ["body.input.a/b~c enum"],
    ],
    [
      "files of this deployment, by their paths alone",
      object({ a: { items: { format: "uri" } } }),
      { a: ["/v1/uploads/x", "/v1/files/x/y.png", "https://a.example", "/v1/models", "x"] },
      ["body.input.a.3 url_parsing", "body.input.a.4 url_parsing"],
    ],
    [
      "exclusive bounds",
      object({ a: { exclusiveMinimum: 0 } }),
      { a: 0 },
      ["body.input.a greater_than"],
    ],
  ])("a validation finds its issues: %s", (_, schema, input, expected) => {
    expect(schemaIssues(schema, input)).toEqual(expected);
  });

  test("dependentRequired (2019-09) and unevaluatedProperties (2020-12) are validated", () => {
    expect(schemaIssues({ dependentRequired: { a: ["b"] } }, { a: 1 })).not.toEqual([]);
    expect(
      schemaIssues({ ...object({ a: {} }), unevaluatedProperties: false }, { a: 1, b: 2 }),
    ).not.toEqual([]);
  });

  test("an issue names a property that the schema does not know", () => {
    const issues = schemaIssues(object({}, { additionalProperties: false }), { b: 1 });
    expect(issues).toEqual(["body.input.b extra_forbidden"]);
  });

  test("every issue has a message, and there are at most 20 issues", () => {
    const schema = { type: "object", additionalProperties: { type: "string" } };
    const input = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]));
    expect(schemaIssues(schema, input).length).toBeLessThanOrEqual(20);
  });

  const text = object(
    { kind: { const: "text" }, text: { type: "string" } },
    { required: ["text"] },
  );
  const image = object({ kind: { const: "image" }, size: { maximum: 9 } });

  test.each<[string, Schema, Json, string[]]>([
    [
      "the branch whose type it has",
      { anyOf: [{ type: "string" }, text] },
      { kind: "text" },
      ["text missing"],
    ],
    [
      "the branch whose const it has",
      { oneOf: [text, image] },
      { kind: "image", size: 10 },
      ["size less_than_equal"],
    ],
    [
      "in each item",
      { type: "array", items: { anyOf: [text, image] } },
      [{ kind: "text" }, { kind: "image", size: 10 }],
      ["0.text missing", "1.size less_than_equal"],
    ],
    [
      "in a union",
      { anyOf: [{ type: "null" }, { oneOf: [text, image] }] },
      { kind: "text" },
      ["text missing"],
    ],
    [
      "and what is beside it",
      { anyOf: [text, image], required: ["b"] },
      { kind: "text" },
      ["text missing", "b missing"],
    ],
  ])("a union %s has its issues", (_, schema, a, expected) => {
    const issues = schemaIssues(object({ a: schema }), { a });
    expect(issues).toEqual(expected.map((issue) => `body.input.a.${issue}`));
  });

  test("a union of other types has an issue that names all of them", () => {
    const unions: Schema[] = [
      { anyOf: [{ type: "string" }, { type: "null" }] },
      { type: ["string", "null"] },
    ];
    for (const union of unions)
      expect(wholeIssues(object({ a: union }), { a: 1 })).toEqual([
        {
          type: "string_type",
          loc: ["body", "input", "a"],
          msg: "Input should be a valid string, or: Input should be null",
          input: 1,
        },
      ]);
  });

  test.each<[string, Schema, Json]>([
    ["two of oneOf", { oneOf: [{ minimum: 1 }, { maximum: 9 }] }, 5],
    ["nothing that is contained", { contains: { type: "string" } }, [1, 2]],
    ["names", { propertyNames: { pattern: "^a" } }, { b: 1 }],
    ["not", { not: { type: "integer" } }, 5],
    ["a format without a type of its own", { format: "email" }, "x"],
    ["the same item twice", { uniqueItems: true }, [1, 1]],
  ])("one value_error is returned for %s", (_, schema, a) => {
    expect(wholeIssues(object({ a: schema }), { a })).toMatchObject([
      { type: "value_error", msg: expect.stringMatching(/./) },
    ]);
  });

  test.each<[Schema, Json, object]>([
    [
      { minimum: 5 },
      4,
      { ctx: { ge: 5 }, input: 4, msg: "Input should be greater than or equal to 5" },
    ],
    [{ $ref: "#/$defs/small" }, 4, { ctx: { le: 3 } }],
    [{ type: "integer" }, 1.5, { type: "int_from_float" }],
    [{ enum: ["a", "b", 5] }, "c", { ctx: { expected: "'a', 'b' or 5" } }],
    [{ const: "a" }, "c", { type: "literal_error", ctx: { expected: "'a'" } }],
    [{ pattern: "^a" }, "b", { ctx: { pattern: "^a" }, msg: "String should match pattern '^a'" }],
    [{ maxItems: 1 }, [1, 2], { type: "too_long", ctx: { field_type: "List", max_length: 1 } }],
    [{ minProperties: 1 }, {}, { type: "too_short", ctx: { min_length: 1 } }],
    [{ multipleOf: 5 }, 6, { type: "multiple_of", ctx: { multiple_of: 5 } }],
    [{ format: "uri" }, "x", { type: "url_parsing" }],
    [{ format: "date-time" }, "x", { type: "datetime_parsing" }],
    [{ format: "uuid" }, "x", { type: "uuid_parsing" }],
    [{ type: "null" }, 5, { type: "none_required" }],
  ])("the issue of %j given %j has what helps to fix the value", (schema, a, expected) => {
    const whole = { $defs: { small: { maximum: 3 } }, ...object({ a: schema }) };
    expect(wholeIssues(whole, { a })).toMatchObject([expected]);
  });

  test("an issue can name a property with quotes", () => {
    expect(schemaIssues({ required: ['a "b"'] }, {})).toEqual(['body.input.a "b" missing']);
  });

  test("an issue repeats no secret", () => {
    const issues = wholeIssues(object({ api_token: { type: "integer" } }), {
      api_token: "hunter2",
    });
    expect(issues).toHaveLength(1);
    expect(JSON.stringify(issues)).not.toContain("hunter2");
  });

  test("an input that a recursive schema follows until the stack overflows has an issue", () => {
    const schema = object({ a: { $ref: "#" } });
    let input: Json = {};
    for (let n = 0; n < 50_000; n++) input = { a: input };
    expect(schemaIssues(schema, input)).toEqual(["body.input recursion_loop"]);
  });

  test("an issue can name a property with half a surrogate pair", () => {
    const schema = object({ a: object({}) }, { additionalProperties: false });
    expect(schemaIssues(schema, { "\ud800": 1 })).toEqual(["body.input.\ud800 extra_forbidden"]);
    expect(schemaIssues(schema, { a: { "x\udc00": 1 } })).toEqual([]);
  });
});
