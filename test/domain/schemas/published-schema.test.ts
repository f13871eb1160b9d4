/** Schemas as they are published: which are accepted, and how much they may cost later. */
import { describe, expect, test } from "vitest";
import { checkSchema } from "../../../src/domain/schemas/json-schema.ts";
import { ValidationFailure } from "../../../src/domain/schemas/validation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { avalanche, issuesOf, nested, object, type Schema, wholeIssues } from "./json-schemas.ts";

describe("a schema that is published", () => {
  const check = (schema: Schema) => () => checkSchema(schema, ["body", "schema"]);

  test("a usable schema is accepted and not changed", () => {
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
  ])("a schema is refused with %s", (_, schema) => {
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

  test.each(malformed)("the schema %j is refused at %s", (schema, place) => {
    const found = issuesOf(check(schema)).map(({ loc }) => loc.join("."));
    expect(found).toEqual([`body.schema.${place}`]);
  });

  test.each(malformed)(
    "the schema %j that was published before the check cannot be used",
    (schema) => {
      expect(wholeIssues(schema, { a: 1 })).toMatchObject([
        { loc: ["body", "input"], msg: expect.stringContaining("cannot be used") },
      ]);
    },
  );

  test("a schema with two mistakes has two issues", () => {
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
  ])("a schema as %s writes it is accepted and usable", (_, schema, input) => {
    expect(check(schema)).not.toThrow();
    expect(wholeIssues(schema, input)).toEqual([]);
  });
});
