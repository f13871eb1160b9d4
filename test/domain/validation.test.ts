/** How what is wrong is said: the `detail` of a 422. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { issuesOf, validateInput, ValidationFailure } from "../../src/domain/validation.ts";
import type { Json } from "../../src/protocol/common.ts";

function zodIssues(schema: z.ZodType, value: unknown) {
  const result = schema.safeParse(value);
  if (result.success) throw new Error("it is valid");
  return issuesOf(result.error, "body").map(({ loc, type }) => `${loc.join(".")} ${type}`);
}

describe("what zod finds", () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ["absent", z.object({ a: z.string() }), {}, "body.a missing"],
    ["absent, custom", z.object({ a: z.custom((v) => v !== undefined, "required") }), {}, "body.a missing"],
    ["absent enum", z.object({ a: z.enum(["x"]) }), {}, "body.a missing"],
    ["null", z.object({ a: z.string() }), { a: null }, "body.a string_type"],
    ["wrong type", z.object({ a: z.string() }), { a: 1 }, "body.a string_type"],
    ["deep", z.object({ a: z.array(z.object({ b: z.int() })) }), { a: [{ b: 1 }, { b: "x" }] }, "body.a.1.b number_type"],
    ["short text", z.string().min(2), "x", "body string_too_short"],
    ["long text", z.string().max(2), "xxx", "body string_too_long"],
    ["short list", z.array(z.int()).min(1), [], "body too_short"],
    ["long list", z.array(z.int()).max(1), [1, 2], "body too_long"],
    ["small", z.number().min(5), 4, "body greater_than_equal"],
    ["not above", z.number().gt(5), 5, "body greater_than"],
    ["large", z.number().max(5), 6, "body less_than_equal"],
    ["not below", z.number().lt(5), 5, "body less_than"],
    ["enum", z.enum(["a", "b"]), "c", "body enum"],
    ["pattern", z.string().regex(/^a$/), "b", "body string_pattern_mismatch"],
    ["uuid", z.uuid(), "b", "body uuid_parsing"],
    ["unknown key", z.strictObject({}), { a: 1 }, "body extra_forbidden"],
  ])("%s", (_, schema, value, expected) => {
    expect(zodIssues(schema, value)).toEqual([expected]);
  });
});

type Schema = Record<string, Json>;

function schemaIssues(schema: Schema, input: Json) {
  try {
    validateInput(schema, input);
  } catch (error) {
    if (error instanceof ValidationFailure) return error.issues.map(({ loc, type }) => `${loc.join(".")} ${type}`);
    throw error;
  }
  return [];
}

const object = (properties: Schema, more: Schema = {}): Schema => ({ type: "object", properties, ...more });

describe("what a version's JSON Schema finds", () => {
  test.each<[string, Schema, Json, string[]]>([
    ["nothing", object({ a: { type: "string" } }), { a: "x" }, []],
    ["an empty schema allows all", {}, { a: [1] }, []],
    ["wrong type", object({ a: { type: "string" } }), { a: 1 }, ["body.input.a value_error"]],
    ["missing", object({}, { required: ["a"] }), {}, ["body.input.a missing"]],
    ["missing, each", object({}, { required: ["a", "b"] }), {}, ["body.input.a missing", "body.input.b missing"]],
    ["missing below", object({ a: object({}, { required: ["b"] }) }), { a: {} }, ["body.input.a.b missing"]],
    ["in a list", object({ a: { type: "array", items: { minimum: 2 } } }), { a: [2, 1] }, ["body.input.a.1 greater_than_equal"]],
    ["prefixItems", object({ a: { prefixItems: [{ enum: ["x"] }] } }), { a: ["y"] }, ["body.input.a.0 enum"]],
    ["$defs and $ref", { $defs: { n: { maximum: 3 } }, ...object({ a: { $ref: "#/$defs/n" } }) }, { a: 4 }, ["body.input.a less_than_equal"]],
    ["length and pattern", object({ a: { maxLength: 1, pattern: "^a" } }), { a: "bb" }, ["body.input.a string_too_long", "body.input.a string_pattern_mismatch"]],
    ["a name with / and ~", object({ "a/b~c": { enum: [1] } }), { "a/b~c": 2 }, ["body.input.a/b~c enum"]],
    ["exclusive bounds", object({ a: { exclusiveMinimum: 0 } }), { a: 0 }, ["body.input.a greater_than"]],
  ])("%s", (_, schema, input, expected) => {
    expect(schemaIssues(schema, input)).toEqual(expected);
  });

  test("dependentRequired and unevaluatedProperties, which are new in 2019-09 and 2020-12", () => {
    expect(schemaIssues({ dependentRequired: { a: ["b"] } }, { a: 1 })).not.toEqual([]);
    expect(schemaIssues({ ...object({ a: {} }), unevaluatedProperties: false }, { a: 1, b: 2 })).not.toEqual([]);
  });

  test("a property that the schema does not know is named", () => {
    const issues = schemaIssues(object({}, { additionalProperties: false }), { b: 1 });
    expect(issues.map((issue) => issue.split(" ")[0])).toContain("body.input.b");
    expect(issues.map((issue) => issue.split(" ")[1])).toContain("extra_forbidden");
  });

  test("every issue says something, and there are not more than anybody reads", () => {
    const schema = { type: "object", additionalProperties: { type: "string" } };
    const input = Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`k${n}`, n]));
    expect(schemaIssues(schema, input).length).toBeLessThanOrEqual(20);
  });

  test("the alternatives of anyOf are summed up where they stand", () => {
    const issues = schemaIssues(object({ a: { anyOf: [{ type: "string" }, { type: "null" }] } }), { a: 1 });
    expect(issues.length).toBeGreaterThan(0);
    expect(new Set(issues.map((issue) => issue.split(" ")[0]))).toEqual(new Set(["body.input.a"]));
  });
});
