/** Example inputs in commands and code samples. */
import { expect, test } from "vitest";
import { exampleInput } from "../../../src/domain/schemas/example-input.ts";
import { validateInput } from "../../../src/domain/schemas/json-schema.ts";
import type { Json } from "../../../src/protocol/common.ts";

const file = (description = "") => ({ type: "string", format: "uri", description });

test("an example input has the defaults, and a value for each required field", () => {
  const schema = {
    required: ["prompt", "count"],
    properties: {
      prompt: { type: "string" },
      count: { type: "integer", minimum: 3 },
      fast: { type: "boolean", default: false },
      style: { type: "string" },
    },
  };
  expect(exampleInput(schema)).toEqual({ prompt: "some text", count: 3, fast: false });
});

test.each<Record<string, Json>>([
  { type: "string", minLength: 30 },
  { type: "string", maxLength: 3 },
  { type: "string", format: "date-time" },
  { type: "string", enum: ["ink", "oil"] },
  { const: 7 },
  { type: "integer", exclusiveMinimum: 0 },
  { type: "integer", minimum: 60, multipleOf: 8 },
  { type: "integer", maximum: 0 },
  { type: "number", minimum: 0, exclusiveMinimum: 0, maximum: 1 },
  { type: "number", maximum: 0.5 },
  { type: "array", minItems: 2, items: { type: "integer", minimum: 2 } },
  { type: "array", items: { enum: ["a", "b"] } },
  {
    type: "object",
    required: ["x"],
    properties: { x: { type: "array", items: { type: "string" } } },
  },
  { anyOf: [{ type: "integer", minimum: 5 }, { type: "null" }] },
  { $ref: "#/$defs/part" },
])("an example input is valid for a field with the schema %j", (field) => {
  const schema = {
    type: "object",
    required: ["field"],
    properties: { field },
    $defs: { part: { type: "object", required: ["n"], properties: { n: { type: "integer" } } } },
  };
  expect(() => validateInput(schema, exampleInput(schema))).not.toThrow();
});

test("an example input has small files, so that a command works unchanged", () => {
  const properties = { image: file(), from: file("The sound to write down"), other: file() };
  const input = exampleInput({ required: Object.keys(properties), properties });
  const bytes = (address: unknown) => Buffer.from(String(address).split(",")[1] ?? "", "base64");
  expect(bytes(input.image).subarray(1, 4).toString()).toBe("PNG");
  expect(bytes(input.from).subarray(8, 12).toString()).toBe("WAVE");
  expect(input.other).toBe("https://example.com/file");
});
