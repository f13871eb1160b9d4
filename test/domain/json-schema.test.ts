/** A version's JSON Schema, and inputs held against it. */
import { describe, expect, test } from "vitest";
import { checkSchema, validateInput } from "../../src/domain/json-schema.ts";
import { ValidationFailure } from "../../src/domain/validation.ts";
import type { Json } from "../../src/protocol/common.ts";

type Schema = Record<string, Json>;

const schemaIssues = (schema: Schema, input: Json) =>
  wholeIssues(schema, input).map(({ loc, type }) => `${loc.join(".")} ${type}`);

function issuesOf(check: () => void) {
  try {
    check();
  } catch (error) {
    if (error instanceof ValidationFailure) return error.issues;
    throw error;
  }
  return [];
}

const wholeIssues = (schema: Schema, input: Json) => issuesOf(() => validateInput(schema, input));

const object = (properties: Schema, more: Schema = {}): Schema => ({
  type: "object",
  properties,
  ...more,
});

/** Two references to the next level at each level. */
function avalanche(keyword: string, levels: number, last: Schema): Schema {
  const $defs: Schema = { [`n${levels}`]: last };
  for (let n = 0; n < levels; n++) {
    const next = { $ref: `#/$defs/n${n + 1}` };
    $defs[`n${n}`] = { [keyword]: [next, next] };
  }
  return { $ref: "#/$defs/n0", $defs };
}

function nested(keyword: string, levels: number): Schema {
  let schema: Schema = {};
  for (let n = 0; n < levels; n++) schema = { [keyword]: schema };
  return schema;
}

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
  ])("of a union, %s", (_, schema, a, expected) => {
    const issues = schemaIssues(object({ a: schema }), { a });
    expect(issues).toEqual(expected.map((issue) => `body.input.a.${issue}`));
  });

  test("of a union of other types, all types", () => {
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
  ])("one value_error for %s", (_, schema, a) => {
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
  ])("what helps to mend it: %j given %j", (schema, a, expected) => {
    const whole = { $defs: { small: { maximum: 3 } }, ...object({ a: schema }) };
    expect(wholeIssues(whole, { a })).toMatchObject([expected]);
  });

  test("a property whose name has quotes", () => {
    expect(schemaIssues({ required: ['a "b"'] }, {})).toEqual(['body.input.a "b" missing']);
  });

  test("no secret is repeated", () => {
    const issues = wholeIssues(object({ api_token: { type: "integer" } }), {
      api_token: "hunter2",
    });
    expect(issues).toHaveLength(1);
    expect(JSON.stringify(issues)).not.toContain("hunter2");
  });

  test("an input that a recursive schema follows until the stack ends", () => {
    const schema = object({ a: { $ref: "#" } });
    let input: Json = {};
    for (let n = 0; n < 50_000; n++) input = { a: input };
    expect(schemaIssues(schema, input)).toEqual(["body.input recursion_loop"]);
  });

  test("a name with half a character in it", () => {
    const schema = object({ a: object({}) }, { additionalProperties: false });
    expect(schemaIssues(schema, { "\ud800": 1 })).toEqual(["body.input value_error"]);
    expect(schemaIssues(schema, { a: { "x\udc00": 1 } })).toEqual([]);
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
      { loc: ["body", "input"], msg: expect.stringContaining("too costly") },
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
    expect(issue?.msg).toContain("too costly");
  });

  test("more mistakes than anybody could list: the first is named", () => {
    const schema = object({ a: object({ b: { items: { type: "string" } } }) });
    const b = Array.from({ length: 90_000 }, () => 1);
    expect(schemaIssues(schema, { a: { b } })[0]).toBe("body.input.a.b.0 string_type");
  });

  test("patterns are tried on 1,000 characters, uniqueItems on 1,000 items", () => {
    const schema = object({ a: { pattern: "^b" }, b: { uniqueItems: true } });
    const of = (length: number) => ({ a: "a".repeat(length), b: Array(length).fill(1) });
    expect(schemaIssues(schema, of(1_000))).toEqual([
      "body.input.a string_pattern_mismatch",
      "body.input.b value_error",
    ]);
    expect(schemaIssues(schema, of(1_001))).toEqual([]);
  });
});
