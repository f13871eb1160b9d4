/** Texts of a form and the values that they are read as. */

import { describe, expect, test } from "vitest";
import { formFields } from "../../../src/domain/schemas/input-form.ts";
import {
  type FieldReading,
  type FilledField,
  fillForm,
  readField,
} from "../../../src/domain/schemas/input-form-values.ts";
import { schemaShape } from "../../../src/domain/schemas/json-schema-shape.ts";
import { fieldMessages, inputChecker } from "../../../src/domain/schemas/json-schema-validator.ts";
import { parseExact } from "../../../src/lib/exact-json.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { field } from "./filled-field.ts";
import { object } from "./json-schemas.ts";

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
    ["a number", field("number", " -1.5e3 "), { value: parseExact("-1.5e3") }],
    [
      "a seed",
      field("integer", "18446744073709551615"),
      { value: parseExact("18446744073709551615") },
    ],
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
    [
      "a list of texts that is not closed",
      field("text", '["cat", "kitten"', { lists: true }),
      { fault: expect.stringContaining("line 1") },
    ],
    ["what only begins like a list", field("text", "[sic]", { lists: true }), { value: "[sic]" }],
    ["a list, where none may be", field("text", '["a"]'), { value: '["a"]' }],
    ["JSON", field("json", ' {"a": [1]} '), { value: { a: [1] } }],
    ["no JSON", field("json", " "), undefined],
  ])("a form text is read as a value: %s", (_, given, expected) => {
    expect(readField(given)).toEqual(expected);
  });

  test.each([
    ['{"a": 1,}', "(line 1 column 9)"],
    ["[1,\n nope]", "Unexpected token 'o'"],
    ["[1e999, nope]", "Unexpected token 'o', \"[1e999, nope]\" is not valid JSON"],
    ["[".repeat(200_000), "Unexpected end"],
  ])("JSON that goes wrong says where: %.20s", (text, where) => {
    for (const part of ["Not valid JSON: ", where])
      expect(readField(field("json", text))).toEqual({ fault: expect.stringContaining(part) });
  });
});

describe("an input that is shown in its form", () => {
  test("an input with names that the form does not have cannot be shown in it", () => {
    const fields = formFields(object({ a: { type: "string" } }));
    expect(fillForm(fields, { b: 1 })).toBeUndefined();
    expect(fillForm(fields, { a: "x" })).toMatchObject([{ name: "a", text: "x" }]);
  });
});

describe("the check of a form", () => {
  test("an issue is shown at its field, with the place below it", () => {
    const schema = object({ a: { type: "array", items: { minimum: 2 } } }, { minProperties: 2 });
    const messages = fieldMessages(inputChecker(schemaShape.parse(schema))({ a: [2, 1] }));
    expect([...messages]).toEqual([
      ["", "Dictionary should have at least 2 items"],
      ["a", "1: Input should be greater than or equal to 2"],
    ]);
  });

  test("an input that the form cannot check is left to the service", () => {
    const check = inputChecker(schemaShape.parse(object({ a: { items: { minimum: 2 } } })));
    expect(check({ a: [...Array<Json>(1_000_000).fill(3), 1] })).toEqual([]);
    expect(check({ a: [1] })).toHaveLength(1);
  });
});
