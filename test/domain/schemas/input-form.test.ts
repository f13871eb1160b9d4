/** The form of an input schema, and the input that the form makes. */
import { describe, expect, test } from "vitest";
import scribe from "../../../runner/examples/chat/auspex.json" with { type: "json" };
import meaning from "../../../runner/examples/embeddings/auspex.json" with { type: "json" };
import image from "../../../runner/examples/image/auspex.json" with { type: "json" };
import hearing from "../../../runner/examples/speech-to-text/auspex.json" with { type: "json" };
import story from "../../../runner/examples/text-generation/auspex.json" with { type: "json" };
import speech from "../../../runner/examples/text-to-speech/auspex.json" with { type: "json" };
import greeter from "../../../src/cli/templates/node/auspex.json" with { type: "json" };
import { exampleInput } from "../../../src/domain/schemas/example-input.ts";
import { type Field, formFields } from "../../../src/domain/schemas/input-form.ts";
import { fillForm, readForm } from "../../../src/domain/schemas/input-form-values.ts";
import { validateInput } from "../../../src/domain/schemas/json-schema.ts";
import type { Json } from "../../../src/protocol/common.ts";
import duotone from "../../models/duotone/auspex.json" with { type: "json" };
import hello from "../../models/hello/auspex.json" with { type: "json" };
import scribeCog from "../../models/scribe-cog/auspex.json" with { type: "json" };
import sums from "../../models/sums/auspex.json" with { type: "json" };
import { avalanche, issuesOf, object, type Schema } from "./json-schemas.ts";

const examples = Object.entries({
  duotone,
  hello,
  meaning,
  scribe,
  "scribe-cog": scribeCog,
  story,
  sums,
}).map(([name, { schemas }]): [string, Schema] => [name, schemas.prediction.input]);

test.each([image, hearing, story, speech, greeter])(
  "the model $name of new users refuses an input whose name it does not know",
  ({ schemas }) => {
    const { input } = schemas.prediction;
    const sample = exampleInput(input);
    validateInput(input, sample);
    expect(() => validateInput(input, { ...sample, promt: "The Queen" })).toThrow(/promt/);
  },
);

/** Returns the field of one property, without its name, label, description and `required`. */
function only(part: Json, required: string[] = []): Partial<Field> {
  const [field] = formFields(object({ it: part }, { required }));
  const { name, label, description, required: needed, ...rest } = field ?? {};
  return rest;
}

describe("the fields of a schema", () => {
  test.each<[string, Json, Partial<Field>]>([
    ["a word", { type: "string" }, { kind: "text" }],
    ["a word that may be long", { type: "string", maxLength: 10_000 }, { kind: "lines" }],
    ["a file", { type: "string", format: "uri" }, { kind: "file" }],
    ["a password", { type: "string", format: "password" }, { kind: "secret" }],
    ["a secret of Cog", { type: "string", "x-cog-secret": true }, { kind: "secret" }],
    ["a number", { type: "number", minimum: 0 }, { kind: "number", minimum: 0 }],
    ["an integer", { type: "integer", default: 3 }, { kind: "integer", default: 3 }],
    [
      "an integer between near bounds",
      { type: "integer", minimum: 1, maximum: 500 },
      { kind: "range", minimum: 1, maximum: 500, step: 1 },
    ],
    [
      "a number between near bounds",
      { type: "number", minimum: 0, maximum: 2 },
      { kind: "range", minimum: 0, maximum: 2, step: 0.01 },
    ],
    [
      "steps that the schema names",
      { type: "integer", minimum: 64, maximum: 2048, multipleOf: 8 },
      { kind: "range", minimum: 64, maximum: 2048, step: 8 },
    ],
    [
      "an integer between far bounds",
      { type: "integer", minimum: 0, maximum: 4_294_967_295 },
      { kind: "integer", minimum: 0, maximum: 4_294_967_295 },
    ],
    ["yes or no", { type: "boolean", default: false }, { kind: "boolean", default: false }],
    ["yes, no or neither", { type: "boolean" }, { kind: "enum", options: [true, false] }],
    ["options", { enum: ["a", 1, null] }, { kind: "enum", options: ["a", 1] }],
    ["texts", { type: "array", items: { type: "string" } }, { kind: "strings" }],
    ["files", { type: "array", items: { type: "string", format: "uri" } }, { kind: "files" }],
    ["numbers", { type: "array", items: { type: "number" } }, { kind: "json" }],
    ["a tuple", { type: "array", prefixItems: [{ type: "string" }] }, { kind: "json" }],
    ["an object", { type: "object", properties: {} }, { kind: "json" }],
    ["anything", {}, { kind: "json" }],
    ["everything", true, { kind: "json" }],
    ["perhaps nothing", { type: ["integer", "null"], default: null }, { kind: "integer" }],
    [
      "perhaps nothing, as pydantic writes it",
      { anyOf: [{ type: "string", format: "uri", title: "Not this" }, { type: "null" }] },
      { kind: "file" },
    ],
    ["text or a list", { type: ["string", "array"], items: {} }, { kind: "text", lists: true }],
    [
      "text or a list, in branches",
      { anyOf: [{ type: "array" }, { type: "string" }] },
      { kind: "text", lists: true },
    ],
    [
      "an address or a list, which is no text",
      { anyOf: [{ type: "string", format: "uri" }, { type: "array" }] },
      { kind: "file" },
    ],
    [
      "two kinds of numbers",
      { oneOf: [{ type: "integer" }, { type: "number" }] },
      { kind: "number" },
    ],
    [
      "constants",
      { oneOf: [{ const: "a" }, { const: "b" }] },
      { kind: "enum", options: ["a", "b"] },
    ],
  ])("a schema part has its form field: %s", (_, part, expected) => {
    expect(only(part)).toEqual(expected);
  });

  test("form fields are named, described and in order", () => {
    const schema = object(
      {
        last: { type: "string" },
        second: { type: "string", "x-order": 1 },
        first: { type: "string", title: "The first", description: "Of two", "x-order": 0 },
      },
      { required: ["second"] },
    );
    expect(formFields(schema)).toEqual([
      { name: "first", label: "The first", description: "Of two", required: false, kind: "text" },
      { name: "second", label: "second", description: "", required: true, kind: "text" },
      { name: "last", label: "last", description: "", required: false, kind: "text" },
    ]);
  });

  test("form fields follow the references of Cog and the keywords beside them", () => {
    const schema = {
      ...object({
        size: { allOf: [{ $ref: "#/components/schemas/size" }], default: "big", "x-order": 0 },
      }),
      components: { schemas: { size: { title: "size", type: "string", enum: ["small", "big"] } } },
    };
    expect(formFields(schema)).toEqual([
      {
        name: "size",
        label: "size",
        description: "",
        required: false,
        kind: "enum",
        default: "big",
        options: ["small", "big"],
      },
    ]);
  });

  test("form fields are found where the whole schema is a reference or an `allOf`", () => {
    const $defs = { a: object({ a: { type: "string" } }, { required: ["a"] }) };
    const b = object({ b: { type: "boolean" } }, { required: ["b"] });
    const found = formFields({ $defs, allOf: [{ $ref: "#/$defs/a" }, b] });
    expect(found.map(({ name, kind, required }) => [name, kind, required])).toEqual([
      ["a", "text", true],
      ["b", "boolean", true],
    ]);
  });

  test.each<[string, Json]>([
    ["no properties", { type: "object" }],
    ["true", true],
    ["a circle", { $ref: "#" }],
    ["a reference to nothing", { $ref: "#/$defs/nothing" }],
    ["an address that cannot be read", { $ref: "#/%E0%A4%A" }],
    ["another document", { $ref: "https://example.com/schema.json" }],
    ["an avalanche", avalanche("allOf", 40, {})],
  ])("a schema has no form fields: %s", (_, schema) => {
    expect(formFields(schema)).toEqual([]);
  });

  test("a schema that doubles at each level is not searched for form fields to its end", () => {
    const schema = avalanche("allOf", 30, object({ a: { type: "string" } }));
    expect(formFields(schema)).toEqual([]);
  });
});

describe("the form of an example", () => {
  test.each(examples)("%s makes an input of its defaults", (_, schema) => {
    const form = fillForm(formFields(schema)) ?? [];
    const { input, faults } = readForm(form);
    const missing = form.filter((field) => field.required && field.default === undefined);
    expect([...faults.keys()]).toEqual(missing.map(({ name }) => name));
    const defaults = form.filter((field) => field.default !== undefined);
    expect(input).toEqual(Object.fromEntries(defaults.map((field) => [field.name, field.default])));
    const found = issuesOf(() => validateInput(schema, input)).map(({ loc, type }) => [
      loc[2],
      type,
    ]);
    expect(found).toEqual(missing.map(({ name }) => [name, "missing"]));
  });

  test("the form of a chat example has a field for the message", () => {
    const scribe = Object.fromEntries(examples).scribe ?? {};
    const [field] = fillForm(formFields(scribe)) ?? [];
    expect(field).toMatchObject({ name: "messages", kind: "messages", text: "" });
    expect(readForm([{ ...field, text: "Who is it?" } as never]).input).toEqual({
      messages: [{ role: "user", content: "Who is it?" }],
    });
  });
});
