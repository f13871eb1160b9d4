/** Texts of a form and the values that they mean; and that an input survives being shown. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Field, type FieldKind, formFields } from "../../../src/domain/schemas/input-form.ts";
import { fieldMessages, inputChecker } from "../../../src/domain/schemas/input-form-check.ts";
import {
  type FieldReading,
  type FilledField,
  fillForm,
  readField,
  readForm,
} from "../../../src/domain/schemas/input-form-values.ts";
import { boundedSchema } from "../../../src/domain/schemas/json-schema-shape.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { object, type Schema, wholeIssues } from "./json-schemas.ts";

const field = (kind: FieldKind, text: string, more: Partial<Field> = {}): FilledField => ({
  name: "it",
  label: "it",
  description: "",
  required: false,
  kind,
  text,
  ...more,
});

const REQUIRED = { required: true };
const MISSING = { fault: "Field required" };

describe("what a text means", () => {
  test.each<[string, FilledField, FieldReading]>([
    ["nothing", field("text", ""), undefined],
    ["nothing, where something is needed", field("text", "", REQUIRED), MISSING],
    ["nothing, in place of a default", field("text", "", { default: "a" }), { value: "" }],
    ["a word", field("text", " a "), { value: " a " }],
    ["a word as a browser sends it", field("lines", "a\r\nb\rc"), { value: "a\nb\nc" }],
    ["one line", field("text", "a\nb"), { value: "ab" }],
    ["a number", field("number", " -1.5e3 "), { value: -1500 }],
    ["a number with a sign", field("integer", "+2"), { value: 2 }],
    ["no number", field("number", "2 cats"), { fault: expect.stringMatching(/valid number/) }],
    ["hexadecimal", field("integer", "0x10"), { fault: expect.stringMatching(/valid integer/) }],
    ["too much", field("range", "1e999"), { fault: "Input should be a finite number" }],
    ["no number at all", field("number", " "), undefined],
    ["no number at all, needed", field("range", "", REQUIRED), MISSING],
    ["ticked", field("boolean", "true"), { value: true }],
    ["not ticked", field("boolean", ""), { value: false }],
    ["an option", field("enum", '"a"', { options: ["a", 1] }), { value: "a" }],
    [
      "an option that is none",
      field("enum", "2", { options: ["a", 1] }),
      { fault: "Input should be 'a' or 1" },
    ],
    ["no option", field("enum", "", { options: ["a"] }), undefined],
    ["lines", field("strings", "a\r\n\r\n b\n"), { value: ["a", " b"] }],
    ["no lines", field("strings", "\n"), undefined],
    ["no lines, needed", field("files", "", REQUIRED), { value: [] }],
    ["an address", field("file", " https://a.example/b "), { value: "https://a.example/b" }],
    ["a question", field("messages", "Who?"), { value: [{ role: "user", content: "Who?" }] }],
    [
      "a list",
      field("lines", ' ["cat",\n"kitten"]', { lists: true }),
      { value: ["cat", "kitten"] },
    ],
    ["a list of numbers", field("text", "[1, 2]", { lists: true }), { value: [1, 2] }],
    ["what only begins like a list", field("text", "[sic]", { lists: true }), { value: "[sic]" }],
    ["a list, where none may be", field("text", '["a"]'), { value: '["a"]' }],
    ["JSON", field("json", ' {"a": [1]} '), { value: { a: [1] } }],
    ["no JSON", field("json", " "), undefined],
  ])("%s", (_, given, expected) => {
    expect(readField(given)).toEqual(expected);
  });

  test.each<[string, string]>([
    ["{", "unexpected end at line 1, column 2"],
    ['{"a": 1', "unexpected end at line 1, column 8"],
    ['{\n  "a": 1,\n}', "'}' is unexpected at line 3, column 1"],
    ["{a: 1}", "'a:' is unexpected at line 1, column 2"],
    ['{"a" 1}', "'1}' is unexpected at line 1, column 6"],
    ["[1 2]", "'2]' is unexpected at line 1, column 4"],
    ["[1]]", "']' is unexpected at line 1, column 4"],
    ["[01]", "'01]' is unexpected at line 1, column 2"],
    ["[1,\n nope]", "'nope]' is unexpected at line 2, column 2"],
    ["'a'", "''a'' is unexpected at line 1, column 1"],
    ['"a\nb"', "'\"a' is unexpected at line 1, column 1"],
    ['["a]', "'\"a]' is unexpected at line 1, column 2"],
    ["truer", "'truer' is unexpected at line 1, column 1"],
  ])("JSON that goes wrong says where: %s", (text, where) => {
    expect(readField(field("json", text))).toEqual({ fault: `Not valid JSON: ${where}` });
  });

  test("JSON is found wrong wherever JSON.parse finds it so, at any depth", () => {
    const near = fc
      .json()
      .chain((json) =>
        fc
          .tuple(fc.nat(json.length), fc.constantFrom("", ...'[]{},:"\\a1.-'))
          .map(([at, put]) => json.slice(0, at) + put + json.slice(at + 1)),
      );
    fc.assert(
      fc.property(near, (text) => {
        const reading = readField(field("json", text));
        if (!reading || "value" in reading) return;
        expect(() => JSON.parse(text)).toThrow(SyntaxError);
        expect(reading.fault).toMatch(/line \d+, column \d+$/);
      }),
    );
    expect(readField(field("json", "[".repeat(200_000)))).toHaveProperty("fault");
  });
});

/** A property, and values that are valid for it. */
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
  sample({ type: "array", items: { type: "object" } }, fc.array(fc.dictionary(anyText, anyText))),
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

/** A schema, an input that is valid for it, and the defaults of what that leaves out. */
const cases = fc
  .uniqueArray(property, { selector: ({ name }) => name, maxLength: 8 })
  .map((properties) => {
    // Null is a default that is none.
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

describe("an input that is shown in its form", () => {
  test("comes back as it was, with the defaults of what it left out, and is valid", () => {
    fc.assert(
      fc.property(cases, ({ schema, given, defaults }) => {
        const { input, faults } = readForm(fillForm(formFields(schema), given) ?? []);
        expect(faults).toEqual(new Map());
        expect(JSON.stringify(sorted(input))).toBe(
          JSON.stringify(sorted({ ...given, ...defaults })),
        );
        expect(wholeIssues(schema, input)).toEqual([]);
      }),
      { numRuns: 1_000 },
    );
  });

  test("may not have names that the form has not", () => {
    const fields = formFields(object({ a: { type: "string" } }));
    expect(fillForm(fields, { b: 1 })).toBeUndefined();
    expect(fillForm(fields, { a: "x" })).toMatchObject([{ name: "a", text: "x" }]);
  });

  test("means something whatever is typed", () => {
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

describe("the check of a form", () => {
  test("finds what the service finds", () => {
    fc.assert(
      fc.property(
        cases,
        fc.dictionary(fc.constantFrom("a", "messages", "prompt"), fc.jsonValue()),
        ({ schema, given }, other) => {
          const input: Record<string, Json> = JSON.parse(JSON.stringify({ ...given, ...other }));
          expect(inputChecker(boundedSchema.parse(schema))(input)).toEqual(
            wholeIssues(schema, input),
          );
        },
      ),
    );
  });

  test("says it at the field, and where below it", () => {
    const schema = object({ a: { type: "array", items: { minimum: 2 } } }, { minProperties: 2 });
    const messages = fieldMessages(inputChecker(boundedSchema.parse(schema))({ a: [2, 1] }));
    expect([...messages]).toEqual([
      ["", "Dictionary should have at least 2 items"],
      ["a", "1: Input should be greater than or equal to 2"],
    ]);
  });

  test("leaves to the service what it cannot hold", () => {
    const check = inputChecker(boundedSchema.parse(object({ a: { items: { minimum: 2 } } })));
    expect(check({ a: Array(200_000).fill(1) })).toEqual([]);
    expect(check({ a: [1] })).toHaveLength(1);
  });
});
