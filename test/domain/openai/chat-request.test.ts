/** Conversion of the body of a response into that of a chat. */
import { expect, test } from "vitest";
import { chatRequestOf, toCallerPaths } from "../../../src/domain/openai/chat-request.ts";
import { conversation, itemsOf } from "../../../src/domain/openai/conversation.ts";
import { NotSupportedByChat } from "../../../src/domain/openai/strict-chat.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { objections } from "../../published/validate.ts";
import { delta, logOf, tell } from "./response-log.ts";

type Body = Record<string, Json>;

/** Returns the chat request, which is valid for the published description of a chat's body. */
function chatOf(request: Body): Body {
  const chat = chatRequestOf({ model: "demo/story", input: "Hello", ...request });
  expect(objections("openai", "CreateChatCompletionRequest", chat)).toEqual([]);
  return chat;
}

const messagesOf = (input: Json) => chatOf({ input }).messages;

test("an input text becomes one user message after the instructions", () => {
  expect(chatOf({})).toEqual({
    model: "demo/story",
    messages: [{ role: "user", content: "Hello" }],
    stream: false,
  });
  expect(chatOf({ instructions: "Be brief." }).messages).toEqual([
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hello" },
  ]);
});

test.each([
  [{ stream: true }, true],
  [{ background: true }, true],
  [{ stream: false, background: false }, false],
  [{ stream: null }, false],
])("the request %j streams: %s", (request, streams) => {
  const chat = chatOf(request);
  expect(chat.stream).toBe(streams);
  expect(chat.stream_options).toEqual(streams ? { include_usage: true } : undefined);
});

test("messages of every role are converted, as text or in parts", () => {
  expect(
    messagesOf([
      { role: "system", content: "One" },
      { type: "message", role: "developer", content: [{ type: "input_text", text: "Two" }] },
      {
        role: "user",
        content: [
          { type: "input_text", text: "a" },
          { type: "text", text: "b" },
        ],
      },
      { role: "assistant", content: "Three" },
      {
        role: "assistant",
        content: [
          { type: "output_text", text: "Fo", annotations: [] },
          { type: "output_text", text: "ur", annotations: [] },
        ],
      },
      { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
    ]),
  ).toEqual([
    { role: "system", content: "One\n\nTwo" },
    { role: "user", content: "a\nb" },
    { role: "assistant", content: "Three\nFour", refusal: "No." },
  ]);
});

test("images, files and sound stay parts", () => {
  const image_url = "data:image/png;base64,AAAA";
  const input_audio = { data: "AAAA", format: "wav" };
  expect(
    messagesOf([
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is it?" },
          { type: "input_image", image_url, detail: "low" },
          { type: "input_image", image_url, detail: null },
          { type: "input_file", file_data: "AAAA", filename: "a.pdf" },
          { type: "input_audio", input_audio },
        ],
      },
    ]),
  ).toEqual([
    {
      role: "user",
      content: [
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url: image_url, detail: "low" } },
        { type: "image_url", image_url: { url: image_url } },
        { type: "file", file: { file_data: "AAAA", filename: "a.pdf" } },
        { type: "input_audio", input_audio },
      ],
    },
  ]);
});

test("calls become one message with the text right before them, and their outputs become tool messages", () => {
  const call = (name: string) => ({
    type: "function_call",
    ...{ id: `fc_${name}`, call_id: `call_${name}`, name, arguments: "{}" },
  });
  const called = (name: string) => ({
    id: `call_${name}`,
    type: "function",
    function: { name, arguments: "{}" },
  });
  expect(
    messagesOf([
      { role: "user", content: "Go" },
      { type: "reasoning", id: "rs_1", summary: [] },
      call("a"),
      { type: "reasoning", id: "rs_2", summary: [] },
      call("b"),
      { type: "function_call_output", call_id: "call_a", output: "1" },
      {
        type: "function_call_output",
        call_id: "call_b",
        output: [
          { type: "input_text", text: "2" },
          { type: "input_text", text: "3" },
        ],
      },
      { role: "assistant", content: "Again." },
      call("c"),
    ]),
  ).toEqual([
    { role: "user", content: "Go" },
    { role: "assistant", content: null, tool_calls: [called("a"), called("b")] },
    { role: "tool", tool_call_id: "call_a", content: "1" },
    { role: "tool", tool_call_id: "call_b", content: "2\n3" },
    { role: "assistant", content: "Again.", tool_calls: [called("c")] },
  ]);
});

test("the output of a response goes into the next turn", () => {
  const calls = [{ index: 0, id: "call_1", function: { name: "sum", arguments: "{}" } }];
  const { output } = tell(
    logOf([delta({ content: "Well." }), delta({ tool_calls: calls })]),
  ).resource;
  const input = conversation(itemsOf("Hello"), output, [
    { type: "function_call_output", call_id: "call_1", output: "3" },
  ]);
  expect(messagesOf(input)).toEqual([
    { role: "user", content: "Hello" },
    {
      role: "assistant",
      content: "Well.",
      tool_calls: [{ id: "call_1", type: "function", function: { name: "sum", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "3" },
  ]);
});

const tool = (name: string) => ({
  type: "function",
  ...{ name, description: "Adds", parameters: { type: "object" }, strict: true },
});
const nested = ({ type, ...fields }: ReturnType<typeof tool>) => ({ type, function: fields });

test("tools and the tool choice are converted", () => {
  const tools = [tool("a"), tool("b")];
  expect(chatOf({ tools, tool_choice: "required", parallel_tool_calls: false })).toMatchObject({
    tools: tools.map(nested),
    tool_choice: "required",
    parallel_tool_calls: false,
  });
  expect(chatOf({ tools, tool_choice: { type: "function", name: "b" } }).tool_choice).toEqual({
    type: "function",
    function: { name: "b" },
  });
  const bare = { type: "function", name: "a", description: null, parameters: null, strict: null };
  expect(chatOf({ tools: [bare] }).tools).toEqual([{ type: "function", function: { name: "a" } }]);
});

test("tools that are not allowed are not offered", () => {
  const tool_choice = {
    type: "allowed_tools",
    mode: "required",
    tools: [{ type: "function", name: "b" }],
  };
  expect(chatOf({ tools: [tool("a"), tool("b")], tool_choice })).toMatchObject({
    tools: [nested(tool("b"))],
    tool_choice: "required",
  });
});

test("settings get the names that a chat has for them", () => {
  const schema = { type: "object" };
  const chat = chatOf({
    max_output_tokens: 100,
    reasoning: { effort: "low", summary: "auto" },
    text: {
      format: { type: "json_schema", name: "n", schema, strict: true, description: null },
      verbosity: "low",
    },
    top_logprobs: 3,
    temperature: 0,
    top_p: 0.5,
    user: "u",
    seed: 7,
    stop: ["\n"],
    top_k: 40,
    presence_penalty: null,
  });
  expect(chat).toEqual({
    model: "demo/story",
    messages: [{ role: "user", content: "Hello" }],
    max_tokens: 100,
    reasoning_effort: "low",
    response_format: { type: "json_schema", json_schema: { name: "n", schema, strict: true } },
    verbosity: "low",
    logprobs: true,
    top_logprobs: 3,
    temperature: 0,
    top_p: 0.5,
    user: "u",
    seed: 7,
    stop: ["\n"],
    top_k: 40,
    stream: false,
  });
  expect(chatOf({ text: { format: { type: "json_object" } } }).response_format).toEqual({
    type: "json_object",
  });
  expect(chatOf({ include: ["message.output_text.logprobs"], top_logprobs: 0 })).toMatchObject({
    logprobs: true,
  });
});

test("fields that a chat does not have are left out", () => {
  const chat = chatOf({
    store: true,
    background: false,
    previous_response_id: "resp_1",
    include: ["reasoning.encrypted_content"],
    truncation: "auto",
    service_tier: "auto",
    conversation: "conv_1",
    prompt: { id: "p" },
    max_tool_calls: 2,
    stream_options: { include_obfuscation: true },
    metadata: { a: "b" },
    text: { format: { type: "text" } },
    top_logprobs: 0,
    tools: [],
  });
  expect(Object.keys(chat).sort()).toEqual(["messages", "model", "stream"]);
});

test.each<[string, Body, string, string]>([
  ["a tool", { tools: [tool("a"), { type: "web_search" }] }, "tools[1]", "web_search"],
  ["a choice", { tool_choice: { type: "file_search" } }, "tool_choice", "file_search"],
  ["a compaction", { input: [{ type: "compaction" }] }, "input[0]", "another service"],
  ["a reference", { input: [{ type: "item_reference", id: "m" }] }, "input[0]", "references"],
  [
    "a part",
    { input: [{ role: "user", content: [{ type: "input_video" }] }] },
    "input[0].content[0]",
    "input_video",
  ],
  [
    "an image by its id",
    { input: [{ role: "user", content: [{ type: "input_image", file_id: "f" }] }] },
    "input[0].content[0]",
    "image_url",
  ],
  [
    "a file by its address",
    { input: [{ role: "user", content: [{ type: "input_file", file_url: "https://a.b/" }] }] },
    "input[0].content[0]",
    "file_data",
  ],
  ["no input", { input: 7 }, "input", "text, or a list"],
])("%s that a chat cannot have is refused by its place and type", (_, request, param, said) => {
  const refused = () => chatRequestOf({ model: "demo/story", input: "Hello", ...request });
  expect(refused).toThrow(NotSupportedByChat);
  expect(refused).toThrow(said);
  try {
    refused();
  } catch (error) {
    expect(error).toMatchObject({ param });
  }
});

const call = (call_id: string) => ({ type: "function_call", call_id, name: "f", arguments: "{}" });
const calledTool = { type: "function", name: "f" };
const said = toCallerPaths({
  model: "a/b",
  instructions: "Be brief.",
  input: [
    { role: "developer", content: "One" },
    { role: "user", content: "Two" },
    { type: "reasoning", summary: [] },
    call("1"),
    call("2"),
    { type: "function_call_output", call_id: "1", output: "x" },
  ],
  tools: [calledTool, { type: "namespace", name: "n", tools: [calledTool, calledTool] }],
});

test.each([
  ["messages[0].content", "instructions.content"],
  ["messages[1].content[2].type", "input[1].content[2].type"],
  ["messages[2].tool_calls[1].function.arguments", "input[4].arguments"],
  ["messages[3].content", "input[5].content"],
  ["messages.1.content: too long", "input[1].content: too long"],
  ["messages[9] is not there, nor is messages", "messages[9] is not there, nor is messages"],
  ["tools[2].function.parameters", "tools[1].tools[1].parameters"],
  ["max_tokens is too large: max_tokens", "max_output_tokens is too large: max_output_tokens"],
  ["'response_format.json_schema.schema'", "'text.format.schema'"],
  ["temperature", "temperature"],
])("the container's path %s is the caller's path %s", (theirs, callers) => {
  expect(said(theirs)).toBe(callers);
});
