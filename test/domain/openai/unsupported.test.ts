/** Parameters that must change the answer, checked against the fields in a model's schema. */
import { expect, test } from "vitest";
import { findUnsupported } from "../../../src/domain/openai/unsupported.ts";
import type { Json } from "../../../src/protocol/common.ts";

type Fields = Record<string, Json>;

const withProperties = (...names: string[]): Fields => ({
  type: "object",
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});

const NAMED = { type: "function", function: { name: "weather" } };

const CHAT: [Fields, string][] = [
  [{ tool_choice: "required" }, "tool_choice"],
  [{ tool_choice: NAMED, tools: [NAMED] }, "tool_choice"],
  [{ tool_choice: { type: "allowed_tools", allowed_tools: { mode: "required" } } }, "tool_choice"],
  [{ response_format: { type: "json_object" } }, "response_format"],
  [{ response_format: { type: "json_schema", json_schema: {} } }, "response_format"],
  [{ n: 2 }, "n"],
  [{ logprobs: true }, "logprobs"],
  [{ top_logprobs: 1 }, "top_logprobs"],
];

test.each(CHAT)("a chat that asks for %j needs a schema with %s", (request, param) => {
  const of = (...names: string[]) =>
    findUnsupported("chat_completions", request, withProperties("messages", ...names));
  expect(of()).toEqual({ param, property: param });
  expect(of("temperature", "tools", "text")).toEqual({ param, property: param });
  expect(of(param)).toBeUndefined();
});

const RESPONSES: [Fields, string, string, string][] = [
  [{ tool_choice: "required" }, "tool_choice", "tool_choice", "tool_choice"],
  [{ tool_choice: { type: "function", name: "a" } }, "tool_choice", "tool_choice", "tool_choice"],
  [
    { tool_choice: { type: "allowed_tools", mode: "required" } },
    "tool_choice",
    "tool_choice",
    "tool_choice",
  ],
  [{ text: { format: { type: "json_object" } } }, "text.format", "text", "response_format"],
  [{ text: { format: { type: "json_schema" } } }, "text.format", "text", "response_format"],
  [{ include: ["message.output_text.logprobs"] }, "include", "include", "logprobs"],
  [{ top_logprobs: 2 }, "top_logprobs", "top_logprobs", "top_logprobs"],
];

test.each(RESPONSES)("a response that asks for %j in %s needs %s, or of a chat %s", (...one) => {
  const [request, param, own, ofChat] = one;
  const of = (...names: string[]) =>
    findUnsupported("responses", request, withProperties(...names));
  expect(of("input")).toEqual({ param, property: own });
  expect(of("input", own)).toBeUndefined();
  expect(of("messages")).toEqual({ param, property: ofChat });
  expect(of("messages", ofChat)).toBeUndefined();
  expect(of("messages", "input", own)).toBeUndefined();
  expect(of("prompt")).toEqual({ param, property: own });
});

test.each<[Fields]>([
  [{}],
  [{ tool_choice: "auto", tools: [NAMED] }],
  [{ tool_choice: "none" }],
  [{ tool_choice: null }],
  [{ tool_choice: { type: "allowed_tools", mode: "auto" } }],
  [{ tool_choice: { type: "allowed_tools", allowed_tools: { mode: "auto" } } }],
  [{ response_format: { type: "text" }, text: { format: { type: "text" } } }],
  [{ response_format: null, text: null }],
  [{ text: { verbosity: "low" } }],
  [{ n: 1, logprobs: false, top_logprobs: 0 }],
  [{ n: null, logprobs: null, top_logprobs: null }],
  [{ include: ["reasoning.encrypted_content"] }],
  [{ temperature: 2, seed: 5, user: "ada" }],
])("the request %j asks for nothing that the schema must have", (request) => {
  for (const call of ["chat_completions", "responses"] as const) {
    expect(findUnsupported(call, request, withProperties("messages"))).toBeUndefined();
    expect(findUnsupported(call, request, withProperties("input"))).toBeUndefined();
  }
});

test("a schema that does not say what the model takes refuses nothing", () => {
  const schemas: Fields[] = [{}, { type: "object" }, { properties: true }];
  for (const schema of schemas) {
    expect(findUnsupported("chat_completions", { n: 2 }, schema)).toBeUndefined();
  }
  expect(findUnsupported("chat_completions", { n: 2 }, { properties: {} })?.param).toBe("n");
});

test("the parameters of embeddings are not checked", () => {
  expect(findUnsupported("embeddings", { n: 2, logprobs: true }, withProperties("input"))).toBe(
    undefined,
  );
});

const MESSAGES: [Fields, string, string][] = [
  [{ tool_choice: { type: "any" } }, "tool_choice", "tool_choice"],
  [{ tool_choice: { type: "tool", name: "weather" } }, "tool_choice", "tool_choice"],
  [
    { output_config: { format: { type: "json_schema", schema: {} } } },
    "output_config.format",
    "response_format",
  ],
];

test.each(MESSAGES)(
  "a message that asks for %j needs a schema for %s",
  (request, param, property) => {
    const of = (...names: string[]) =>
      findUnsupported("messages", request, withProperties("messages", ...names));
    expect(of()).toEqual({ param, property });
    expect(of(property)).toBeUndefined();
  },
);

test.each<Fields>([
  { tool_choice: { type: "auto" } },
  { tool_choice: { type: "none" } },
  { output_config: { effort: "low" } },
])("a message that asks for %j asks for nothing that the schema must have", (request) => {
  expect(findUnsupported("messages", request, withProperties("messages"))).toBeUndefined();
});
