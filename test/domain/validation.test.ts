/** How what is wrong is said: the `detail` of a 422. */
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { issuesOf } from "../../src/domain/validation.ts";
import { json } from "../../src/protocol/common.ts";

function zodIssues(schema: z.ZodType, value: unknown) {
  const result = schema.safeParse(value);
  if (result.success) throw new Error("it is valid");
  return issuesOf(result.error, "body", value).map(({ loc, type }) => `${loc.join(".")} ${type}`);
}

describe("what zod finds", () => {
  test.each<[string, z.ZodType, unknown, string]>([
    ["absent", z.object({ a: z.string() }), {}, "body.a missing"],
    ["absent JSON", z.object({ a: json }), {}, "body.a missing"],
    ["absent enum", z.object({ a: z.enum(["x"]) }), {}, "body.a missing"],
    ["null", z.object({ a: z.string() }), { a: null }, "body.a string_type"],
    ["wrong type", z.object({ a: z.string() }), { a: 1 }, "body.a string_type"],
    [
      "deep",
      z.object({ a: z.array(z.object({ b: z.int() })) }),
      { a: [{ b: 1 }, { b: "x" }] },
      "body.a.1.b float_type",
    ],
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
