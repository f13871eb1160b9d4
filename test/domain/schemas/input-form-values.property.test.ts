/** Any schema with any valid input, converted to form values and back. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type FieldKind, formFields } from "../../../src/domain/schemas/input-form.ts";
import { fillForm, readForm } from "../../../src/domain/schemas/input-form-values.ts";
import { schemaShape } from "../../../src/domain/schemas/json-schema-shape.ts";
import { inputChecker } from "../../../src/domain/schemas/json-schema-validator.ts";
import { exactText, parseExact } from "../../../src/lib/exact-json.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { sized } from "../../support/sized.ts";
import { field } from "./filled-field.ts";
import { object, type Schema, wholeIssues } from "./json-schemas.ts";

/** A property with values that are valid for it. */
interface Sample {
  part: Schema;
  value: Json;
}

const sample = (part: Schema, values: fc.Arbitrary<Json>) =>
  values.map((value): Sample => ({ part, value }));

const anyText = fc.oneof(
  fc.string({ unit: "grapheme" }),
  fc.string({ unit: "binary" }),
  fc.constantFrom("", "\n", "a\nb", "\na", "a\r\nb", "\ud800", "\0", " ", "true", "null", "1"),
);

/**
 * V8 (in Node 24.21) takes an escaped lone surrogate for a backslash, if it has seen one as the name in that
 * place: after JSON.parse('{"":1,"\\\\":2}'), JSON.parse('{"":1,"\\ud800":2}') has the name "\\".
 */
const anyName = anyText.filter((text) => text.isWellFormed());

const scalars: fc.Arbitrary<Sample>[] = [
  sample({ type: "string" }, anyText),
  sample({ type: "string", maxLength: 5_000 }, anyText),
  sample({ type: "string", format: "password" }, anyText),
  sample({ type: "string", format: "uri" }, fc.webUrl()),
  sample({ type: "integer" }, fc.maxSafeInteger()),
  sample({ type: "integer", minimum: 0, maximum: 9 }, fc.integer({ min: 0, max: 9 })),
  sample({ type: "number" }, fc.double({ noNaN: true, noDefaultInfinity: true })),
  sample(
    { type: ["number", "null"] },
    fc.oneof(fc.double({ noNaN: true, noDefaultInfinity: true }), fc.constant(null)),
  ),
  sample({ type: "boolean" }, fc.boolean()),
  sample({ anyOf: [{ type: "boolean" }, { type: "null" }] }, fc.constantFrom(true, false, null)),
  sample(
    { enum: ["a", "1", 1, true, null, [1]] },
    fc.constantFrom<Json>("a", "1", 1, true, null, [1]),
  ),
  sample({ allOf: [{ $ref: "#/components/schemas/size" }] }, fc.constantFrom("small", "big")),
  sample({ type: "array", items: { type: "string" } }, fc.array(anyText)),
  sample({ type: "array", items: { type: "string", format: "uri" } }, fc.array(fc.webUrl())),
  sample({ type: "array", items: { type: "object" } }, fc.array(fc.dictionary(anyName, anyText))),
  sample(
    { anyOf: [{ type: "string" }, { type: "array", items: { type: "string" } }] },
    fc.oneof(
      anyText,
      fc.array(anyText),
      fc.array(anyText).map((list) => JSON.stringify(list)),
    ),
  ),
  sample({ type: ["string", "array", "object"] }, fc.oneof(anyText, fc.array(fc.boolean()))),
  sample(
    {},
    fc.jsonValue().map((value) => JSON.parse(JSON.stringify(value))),
  ),
];

const property = fc.record({
  name: fc.oneof(fc.string(), fc.constantFrom("__proto__", "constructor", "messages", "prompt")),
  sample: fc.oneof(...scalars),
  required: fc.boolean(),
  role: fc.constantFrom("given", "default", "left out"),
});

/** A schema, an input that is valid for it, and the defaults of the fields that the input leaves out. */
const cases = fc
  .uniqueArray(property, { selector: ({ name }) => name, maxLength: 8 })
  .map((properties) => {
    // A default of null counts as no default.
    const roleOf = ({ role, sample: { value } }: (typeof properties)[number]) =>
      role === "default" && value === null ? "left out" : role;
    const parts = properties.map((one): [string, Json] => {
      const { part, value } = one.sample;
      return [one.name, roleOf(one) === "default" ? { ...part, default: value } : part];
    });
    const required = properties.filter((one) => one.required && roleOf(one) !== "left out");
    const schema = {
      ...object(Object.fromEntries(parts), { required: required.map(({ name }) => name) }),
      components: { schemas: { size: { type: "string", enum: ["small", "big"] } } },
    };
    const inputOfRole = (role: string): Record<string, Json> =>
      Object.fromEntries(
        properties.filter((one) => roleOf(one) === role).map((one) => [one.name, one.sample.value]),
      );
    return { schema, given: inputOfRole("given"), defaults: inputOfRole("default") };
  });

const sorted = (input: Record<string, Json>) =>
  Object.entries(input).toSorted(([a], [b]) => (a < b ? -1 : 1));

const objectIn = (value: Json): Record<string, Json> =>
  typeof value === "object" && value !== null && !Array.isArray(value)
    ? value
    : expect.fail("no object");

describe("an input that is shown in its form", () => {
  test("a shown input comes back unchanged, with the defaults of omitted fields, and is valid", () => {
    fc.assert(
      fc.property(cases, ({ schema, given, defaults }) => {
        const shown = objectIn(parseExact(JSON.stringify(given)));
        const { input: read, faults } = readForm(fillForm(formFields(schema), shown) ?? []);
        expect(faults).toEqual(new Map());
        const input = objectIn(JSON.parse(exactText(read)));
        expect(JSON.stringify(sorted(input))).toBe(
          JSON.stringify(sorted({ ...given, ...defaults })),
        );
        expect(wholeIssues(schema, input)).toEqual([]);
      }),
      { numRuns: sized(200, 1_000) },
    );
  });

  test("a filled form has an input or an error, whatever is typed", () => {
    const kinds = fc.constantFrom<FieldKind>(
      "boolean",
      "enum",
      "files",
      "json",
      "lines",
      "messages",
      "range",
      "text",
    );
    fc.assert(
      fc.property(kinds, anyText, fc.boolean(), (kind, text, required) => {
        const { input, faults } = readForm([field(kind, text, { required, options: ["a"] })]);
        expect(Object.keys(input).length + faults.size).toBeLessThanOrEqual(1);
        if (required) expect(Object.keys(input).length + faults.size).toBe(1);
      }),
    );
  });
});

test("the check of a form finds what the service finds", () => {
  fc.assert(
    fc.property(
      cases,
      fc.dictionary(fc.constantFrom("a", "messages", "prompt"), fc.jsonValue()),
      ({ schema, given }, other) => {
        const input: Record<string, Json> = JSON.parse(JSON.stringify({ ...given, ...other }));
        expect(inputChecker(schemaShape.parse(schema))(input)).toEqual(wholeIssues(schema, input));
      },
    ),
  );
});
