/** Schemas as they are published: which are taken, and what they may cost later. */
import { describe, expect, test } from "vitest";
import { checkSchema } from "../../../src/domain/schemas/json-schema.ts";
import { ValidationFailure } from "../../../src/domain/schemas/validation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import {
  avalanche,
  issuesOf,
  nested,
  object,
  type Schema,
  schemaIssues,
  wholeIssues,
} from "./json-schemas.ts";

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

  const malformed: [Schema, string][] = [
    [{ required: 5 }, "required"],
    [{ required: { a: 1 } }, "required"],
    [{ enum: 3 }, "enum"],
    [{ enum: null }, "enum"],
    [{ allOf: 5 }, "allOf"],
    [{ allOf: {} }, "allOf"],
    [{ anyOf: { a: 1 } }, "anyOf"],
    [{ anyOf: [null] }, "anyOf.0"],
    [{ not: null }, "not"],
    [{ properties: null }, "properties"],
    [{ properties: { a: null } }, "properties.a"],
    [{ dependentRequired: { a: 5 } }, "dependentRequired.a"],
    [{ properties: { a: { type: "string", required: true } } }, "properties.a.required"],
    [{ $defs: { a: { items: { type: "foo" } } } }, "$defs.a.items.type"],
    [{ components: { schemas: { A: { type: 5 } } } }, "components.schemas.A.type"],
    [{ minLength: "x" }, "minLength"],
    [{ exclusiveMinimum: true }, "exclusiveMinimum"],
  ];

  test.each(malformed)("%j is refused at %s", (schema, place) => {
    const found = issuesOf(check(schema)).map(({ loc }) => loc.join("."));
    expect(found).toEqual([`body.schema.${place}`]);
  });

  test.each(malformed)("%j, published before that, is no schema to use", (schema) => {
    expect(wholeIssues(schema, { a: 1 })).toMatchObject([
      { loc: ["body", "input"], msg: expect.stringContaining("cannot be used") },
    ]);
  });

  test("two mistakes are two issues", () => {
    expect(issuesOf(check({ type: "foo", enum: 3 }))).toHaveLength(2);
  });

  test.each<[string, Schema, string]>([
    ["that is itself", { $ref: "#" }, "nested too deep"],
    ["that doubles at each level", avalanche("allOf", 21, {}), "steps"],
    ["that is nested without end", nested("not", 20_000), "nested too deep"],
  ])("a schema %s is refused", (_, schema, text) => {
    expect(issuesOf(check(schema))).toMatchObject([
      { loc: ["body", "schema"], msg: expect.stringContaining(text) },
    ]);
  });

  test.each<[string, Schema, Json]>([
    [
      "Cog",
      {
        type: "object",
        title: "Input",
        required: ["prompt"],
        properties: {
          prompt: { type: "string", title: "Prompt", "x-order": 0, description: "A prompt" },
          image: { type: "string", format: "uri", "x-order": 1, nullable: true },
          size: { allOf: [{ $ref: "#/components/schemas/size" }], default: 512, "x-order": 2 },
          texts: { type: "array", items: { type: "string" }, "x-cog-array-type": "iterator" },
        },
        components: {
          schemas: { size: { enum: [512, 768], type: "integer", title: "size", description: "" } },
        },
      },
      { prompt: "x", size: 768, image: "https://example.com/a.png", texts: ["a"] },
    ],
    [
      "pydantic v1",
      {
        definitions: { Point: { type: "object", properties: { x: { type: "number" } } } },
        properties: {
          at: { title: "At", default: { x: 1 }, allOf: [{ $ref: "#/definitions/Point" }] },
          pair: {
            type: "array",
            minItems: 2,
            maxItems: 2,
            items: [{ type: "string" }, { type: "integer" }],
          },
          share: { type: "number", exclusiveMinimum: 0, maximum: 1, env_names: ["share"] },
        },
      },
      { at: { x: 2 }, pair: ["a", 1], share: 0.5 },
    ],
    [
      "pydantic v2",
      {
        $defs: {
          Cat: { properties: { kind: { const: "cat", title: "Kind" } }, required: ["kind"] },
          Dog: { properties: { kind: { const: "dog", title: "Kind" } }, required: ["kind"] },
        },
        properties: {
          pet: {
            discriminator: { mapping: { cat: "#/$defs/Cat" }, propertyName: "kind" },
            oneOf: [{ $ref: "#/$defs/Cat" }, { $ref: "#/$defs/Dog" }],
          },
          seed: { anyOf: [{ type: "integer" }, { type: "null" }], default: null, examples: [1] },
          price: {
            anyOf: [
              { type: "number" },
              { type: "string", pattern: "^(?!^[-+.]*$)[+-]?0*\\d*\\.?\\d*$" },
            ],
          },
          pair: {
            type: "array",
            minItems: 2,
            maxItems: 2,
            prefixItems: [{ type: "string" }, { type: "integer" }],
          },
          more: { type: "object", additionalProperties: true },
          tags: { type: "array", uniqueItems: true, items: { type: "string" } },
        },
      },
      { pet: { kind: "dog" }, seed: null, price: "1.5", pair: ["a", 1], more: { a: 1 }, tags: [] },
    ],
  ])("as %s writes it is taken, and can be used", (_, schema, input) => {
    expect(check(schema)).not.toThrow();
    expect(wholeIssues(schema, input)).toEqual([]);
  });
});

describe("what a validation may cost", () => {
  test.each(["allOf", "anyOf", "oneOf"])("%s that doubles at each level", (keyword) => {
    const { $defs, ...first } = avalanche(keyword, 21, { type: "string" });
    expect(wholeIssues({ $defs: $defs ?? {}, ...object({ a: first }) }, { a: 1 })).toMatchObject([
      { loc: ["body", "input"], msg: expect.stringContaining("too expensive to check") },
    ]);
  });

  test("each validation begins anew", () => {
    const list = object({ a: { items: { type: "number" } } });
    const a = Array.from({ length: 90_000 }, (_, n) => n);
    expect(wholeIssues(list, { a })).toEqual([]);
    expect(wholeIssues(list, { a })).toEqual([]);
  });

  test("a long list of values counts at each visit, since each mistake repeats it", () => {
    const schema = object({ a: { items: { enum: ["x".repeat(90_000)] } } });
    const [issue] = wholeIssues(schema, { a: Array.from({ length: 1_000 }, () => 1) });
    expect(issue?.msg).toContain("too expensive to check");
  });

  test("more mistakes than anybody could list: the first is named", () => {
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
      { patternProperties: { "a.*b": {} }, additionalProperties: false },
      { ["a".repeat(1_000_000)]: 1 },
      [`a.${"a".repeat(1_000_000)} extra_forbidden`],
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

  test("the costs of all trials are added up", () => {
    const schema = object({ a: { items: { pattern: "(x|y)*x(x|y){150}$" } } });
    const a = Array.from({ length: 400 }, (_, n) => "xy".repeat(500) + n);
    expect(wholeIssues(schema, { a })).toMatchObject([
      { loc: ["body", "input"], msg: expect.stringContaining("too expensive to check") },
    ]);
  });

  test("the validator's own format of web addresses, which does, is that of all addresses", () => {
    const schema = object({ a: { format: "url" }, b: { format: "url" } });
    const a = `http://${"a".repeat(200)}!`;
    expect(schemaIssues(schema, { a, b: "x" })).toEqual(["body.input.b url_parsing"]);
  });
});
