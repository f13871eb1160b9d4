/** Cog's documents as JSON Schema 2020-12: the inputs that they accept, and the fields that are shown. */
import { describe, expect, test } from "vitest";
import { cogCompatibilities } from "../../../src/domain/images/compatibilities.ts";
import {
  cogSchemas,
  condensedOpenapi,
  readOpenapi,
} from "../../../src/domain/images/openapi-document.ts";
import { formFields } from "../../../src/domain/schemas/input-form.ts";
import { checkSchema, validateInput } from "../../../src/domain/schemas/json-schema.ts";
import { versionSchema } from "../../../src/domain/schemas/version-schemas.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { COG_0_3, COG_0_9, COG_0_16, COG_0_22, openapiOf } from "./samples.ts";

function read(text: string) {
  const document = readOpenapi(text);
  const schemas = document && cogSchemas(document).schemas;
  if (!schemas) throw new Error("no schemas");
  return schemas;
}

/** Returns those of the values that are valid as an input, or output, of the document. */
const valid = (text: string, side: "input" | "output", values: Json[]) => {
  const schema = versionSchema(read(text), side);
  return values.filter((value) => {
    try {
      validateInput(schema, value);
      return true;
    } catch {
      return false;
    }
  });
};

test.each([
  ["0.3", COG_0_3],
  ["0.9", COG_0_9],
  ["0.16", COG_0_16],
  ["0.22", COG_0_22],
])("the schemas of %s can be published, without the parts that describe no model", (_, text) => {
  const schemas = read(text);
  for (const side of ["input", "output"] as const)
    checkSchema(versionSchema(schemas, side), ["body", "schemas"]);
  expect(JSON.stringify(schemas)).not.toMatch(/nullable|HTTPValidationError|TrainingInput|Status/);
});

describe("inputs", () => {
  test("Cog 0.3 inputs can have enums that `allOf` names, and bounds", () => {
    const image = "https://example.com/a.png";
    const inputs: Json[] = [
      { image },
      { image, style: "ink", scale: 0.1 },
      { image, style: "water" },
      { image, scale: 0 },
      {},
    ];
    expect(valid(COG_0_3, "input", inputs)).toEqual(inputs.slice(0, 2));
    expect(formFields(versionSchema(read(COG_0_3), "input"))).toMatchObject([
      { name: "image", kind: "file", required: true },
      { name: "scale", kind: "number", default: 1.5 },
      { name: "style", kind: "enum", options: ["oil", "ink"], default: "oil" },
    ]);
  });

  test("Cog 0.16 inputs can be null where the schema allows it, also for an enum", () => {
    const inputs: Json[] = [
      {},
      { optional_str: null, choices: null },
      { optional_str: "a", choices: "foo" },
      { choices: "baz" },
      { optional_str: 1 },
    ];
    expect(valid(COG_0_16, "input", inputs)).toEqual(inputs.slice(0, 3));
  });

  test("Cog 0.22 inputs can have unions with null, and secrets", () => {
    const messages = [{ role: "user", content: "Hi" }];
    const inputs: Json[] = [
      { messages },
      { messages, stop: null, api_key: null },
      { messages, stop: ["a"], api_key: "k" },
      { messages, stop: 1 },
      { messages: null },
    ];
    expect(valid(COG_0_22, "input", inputs)).toEqual(inputs.slice(0, 3));
    expect(formFields(versionSchema(read(COG_0_22), "input"))).toMatchObject([
      { name: "messages", kind: "messages" },
      { name: "stop" },
      { name: "api_key", kind: "secret" },
    ]);
  });

  test("a nullable `oneOf` takes null once, and a nullable enum too", () => {
    const text = openapiOf({
      Input: {
        type: "object",
        properties: {
          either: {
            oneOf: [
              { type: "string", nullable: true },
              { type: "integer", nullable: true },
            ],
            nullable: true,
          },
          mode: { type: "string", enum: ["a"], nullable: true },
        },
      },
    });
    const inputs: Json[] = [{ either: null, mode: null }, { either: 1, mode: "a" }, { either: [] }];
    expect(valid(text, "input", inputs)).toEqual(inputs.slice(0, 2));
  });

  test("bounds of OpenAPI 3.0 that are true or false are converted", () => {
    const text = openapiOf({
      Input: {
        type: "object",
        properties: {
          above: { type: "number", minimum: 0, exclusiveMinimum: true },
          from: { type: "number", minimum: 0, exclusiveMinimum: false },
          below: { type: "integer", nullable: true, maximum: 9, exclusiveMaximum: true },
        },
      },
    });
    const inputs: Json[] = [
      { from: 0, above: 0.1, below: null },
      { above: 0 },
      { from: -1 },
      { below: 9 },
    ];
    expect(valid(text, "input", inputs)).toEqual(inputs.slice(0, 1));
  });

  test("a property, a default and an enum that look like keywords stay what they are", () => {
    const input = {
      type: "object",
      properties: {
        nullable: { type: "boolean", default: true },
        example: { type: "string" },
        mode: { type: "object", default: { nullable: true, type: "x" } },
      },
    };
    expect(read(openapiOf({ Input: input })).prediction.input).toEqual(input);
  });

  test("a document of OpenAPI 3.1 is already JSON Schema", () => {
    const input = { type: "object", properties: { a: { type: ["string", "null"] } } };
    expect(read(openapiOf({ Input: input }, "3.1.0")).prediction.input).toEqual(input);
  });
});

describe("outputs", () => {
  test("an output can be an optional union of a schema and a text", () => {
    const outputs: Json[] = [null, "a", { foo_string: null }, 1, { foo_string: 2 }];
    expect(valid(COG_0_16, "output", outputs)).toEqual(outputs.slice(0, 3));
  });

  test("an output schema that only names another schema is followed", () => {
    const text = openapiOf({
      Input: { type: "object" },
      Output: { $ref: "#/components/schemas/MyOutput", title: "Output" },
      MyOutput: { type: "object", required: ["n"], properties: { n: { type: "integer" } } },
    });
    expect(valid(text, "output", [{ n: 1 }, {}])).toEqual([{ n: 1 }]);
    expect(Object.keys(read(text).components?.schemas ?? {})).toEqual(["MyOutput"]);
  });

  test("iterators are streamed, lists are not", () => {
    expect(read(COG_0_9).prediction.stream_output).toBe(true);
    expect(read(COG_0_3).prediction.stream_output).toBe(false);
    const list = openapiOf({ Output: { type: "array", items: { type: "string" } } });
    expect(read(list).prediction.stream_output).toBe(false);
  });

  test("an output schema can contain itself", () => {
    const tree = { type: "object", properties: { below: { $ref: "#/components/schemas/Output" } } };
    const text = openapiOf({ Input: { type: "object" }, Output: tree });
    expect(valid(text, "output", [{ below: { below: {} } }, { below: 1 }])).toHaveLength(1);
  });
});

describe("what is no description of a model", () => {
  test.each([
    ["no JSON", "<html>"],
    ["no document", "[]"],
    ["too deep", `{"openapi":"3.0.2","a":${"[".repeat(70)}${"]".repeat(70)}}`],
  ])("a document describes no model: %s", (_, text) => {
    expect(readOpenapi(text)).toBeUndefined();
    expect(condensedOpenapi(text)).toBeUndefined();
  });

  test("a document without input and output describes no model", () => {
    const document = readOpenapi(openapiOf({}));
    expect(document && cogSchemas(document)).toEqual({});
  });
});

test("a condensed document has the same schemas", () => {
  for (const text of [COG_0_3, COG_0_16]) {
    const condensed = condensedOpenapi(text) ?? "";
    expect(readOpenapi(condensed)).toEqual(readOpenapi(text));
    expect(condensed.length).toBeLessThan(text.length);
  }
});

describe("calls that a Cog model answers", () => {
  const callsOf = (schemas: { [name: string]: Json }) =>
    Object.entries(cogCompatibilities(read(openapiOf(schemas))))
      .filter(([, can]) => can)
      .map(([name]) => name.replace("vendora_", ""));
  const inputOf = (properties: { [name: string]: Json }, required: string[] = []) => ({
    type: "object",
    required,
    properties,
  });
  const messages = { type: "array", items: { type: "object" } };
  const text = { type: "string" };
  const texts = { type: "array", items: text, "x-cog-array-type": "iterator" };

  test.each([
    ["messages, text", inputOf({ messages }), text],
    ["messages, streamed text", inputOf({ messages }, ["messages"]), texts],
    ["messages and options", inputOf({ messages, top_k: { type: "integer" } }, ["messages"]), text],
  ])("chats and responses: %s", (_, Input, Output) => {
    expect(callsOf({ Input, Output })).toEqual(["chat_completions", "responses"]);
  });

  test("a model with a prompt and text output answers completions", () => {
    const Input = inputOf({ prompt: text, seed: { type: "integer" } }, ["prompt"]);
    expect(callsOf({ Input, Output: texts })).toEqual(["completions"]);
  });

  test("a model with `input` beside `messages` gets the body of a responses call unchanged, and may refuse it", () => {
    expect(callsOf({ Input: inputOf({ messages, input: text }), Output: text })).toEqual([
      "chat_completions",
    ]);
  });

  test.each([
    ["a prompt and a picture", inputOf({ prompt: text, image: text }, ["image"]), text],
    ["a prompt, a picture", inputOf({ prompt: text }), { type: "string", format: "uri" }],
    ["a prompt of several texts", inputOf({ prompt: texts }), text],
    ["messages as one text", inputOf({ messages: text }), text],
    ["messages and a picture", inputOf({ messages, image: text }, ["messages", "image"]), text],
    ["messages, a file", inputOf({ messages }), { type: "string", format: "uri" }],
    ["messages, a number", inputOf({ messages }), { type: "number" }],
    ["a picture, its caption", inputOf({ input: { type: "string", format: "uri" } }), text],
  ])("a model with %s answers no calls", (_, Input, Output) => {
    expect(callsOf({ Input, Output })).toEqual([]);
  });

  const numbers = { type: "array", items: { type: "number" } };
  test.each([
    ["a text, its vector", inputOf({ input: text }, ["input"]), numbers],
    ["texts, their vectors", inputOf({ input: texts }), { type: "array", items: numbers }],
    ["as OpenAI", inputOf({ input: text }), { type: "object", properties: { data: {} } }],
  ])("a model answers embeddings: %s", (_, Input, Output) => {
    expect(callsOf({ Input, Output })).toEqual(["embeddings"]);
  });
});
