/** The part of a schema that a page shows, of every publishable one and of hostile ones. */
import { expect, test } from "vitest";
import { displaySchema } from "../../src/dashboard/models/display-schema.ts";
import type { Json } from "../../src/protocol/common.ts";

test("references are followed, and schemas that apply together are merged", () => {
  const { schema, complete } = displaySchema({
    allOf: [{ properties: { a: { type: "string" } }, required: ["a"] }],
    properties: { b: { $ref: "#/$defs/of~1b", description: "B itself" } },
    $defs: { "of/b": { type: "integer", minimum: 1, description: "Any" } },
  });
  expect(complete).toBe(true);
  expect(schema).toEqual({
    required: ["a"],
    properties: {
      a: { type: "string" },
      b: { type: "integer", minimum: 1, description: "B itself" },
    },
  });
});

test("fields have the order of Cog, or else the written one", () => {
  const { schema } = displaySchema({
    properties: { c: {}, b: { "x-order": 1 }, a: { "x-order": 0 }, d: {} },
  });
  expect(Object.keys(schema.properties ?? {})).toEqual(["a", "b", "c", "d"]);
});

test("all alternatives are shown", () => {
  expect(
    displaySchema({ oneOf: [{ type: "string" }, { items: { type: "number" } }, { const: 7 }] })
      .schema,
  ).toEqual({ anyOf: [{ type: "string" }, { items: { type: "number" } }, { const: 7 }] });
});

test("keywords of a wrong type are ignored", () => {
  const { schema } = displaySchema({
    type: "text",
    description: { toString: "x" },
    enum: "abc",
    minimum: "1",
    required: "a",
    properties: JSON.parse('{"a": true, "b": null, "__proto__": {"type": "string"}}'),
    items: [{ type: "string" }],
    anyOf: {},
  });
  expect(JSON.stringify(schema)).toBe(
    '{"properties":{"a":{},"b":{},"__proto__":{"type":"string"}}}',
  );
  expect(displaySchema(true).schema).toEqual({});
});

const TREE = {
  $ref: "#/$defs/tree",
  $defs: {
    tree: {
      properties: { left: { $ref: "#/$defs/tree" }, right: { $ref: "#/$defs/tree" } },
    },
  },
};

const DOUBLING = {
  $ref: "#/$defs/0",
  $defs: Object.fromEntries(
    Array.from({ length: 30 }, (_, n) => [
      n,
      { allOf: Array.from({ length: 10 }, () => ({ $ref: `#/$defs/${n + 1}` })) },
    ]),
  ),
};

test.each([
  ["itself", { $ref: "#" }],
  ["a tree", TREE],
  ["doubling references", DOUBLING],
  ["doubling alternatives", JSON.parse(JSON.stringify(DOUBLING).replaceAll("allOf", "anyOf"))],
])("an endless schema is cut: %s", (_, schema) => {
  expect(displaySchema(schema).complete).toBe(false);
});

const NAMES = Array.from({ length: 3_000 }, (_, n) => `name${n}`);

test.each<[string, Json]>([
  ["properties", { properties: Object.fromEntries(NAMES.map((name) => [name, true])) }],
  ["required names", { required: NAMES }],
])("a schema of 90 KB that merges thousands of %s many times is shown in part", (_, part) => {
  const allOf = Array<Json>(1_900).fill({ $ref: "#/$defs/a" });
  const { schema, complete } = displaySchema({ $defs: { a: part }, allOf });
  expect(complete).toBe(false);
  expect(JSON.stringify(schema).length).toBeLessThan(500_000);
});
