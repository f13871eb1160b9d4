/** Conversion of the body of a messages call into that of a chat. */
import { expect, test } from "vitest";
import { chatRequestOf, toCallerPaths } from "../../../src/domain/anthropic/chat-request.ts";
import { NotSupportedByChat } from "../../../src/domain/openai/strict-chat.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { objections } from "../../published/validate.ts";

type Body = Record<string, Json>;

const HELLO = [{ role: "user", content: "Hello" }];

/** Returns the chat request, which is valid for the published description of a chat's body. */
function chatOf(request: Body): Body {
  const asked = { model: "demo/story", max_tokens: 9, messages: HELLO, ...request };
  const chat = chatRequestOf(asked);
  expect(objections("openai", "CreateChatCompletionRequest", chat)).toEqual([]);
  return chat;
}

const messagesOf = (messages: Json, system?: Json) =>
  chatOf({ messages, ...(system !== undefined && { system }) }).messages;

const text = (text: string) => ({ type: "text", text });
const use = (id: string, name: string, input: Json) => ({ type: "tool_use", id, name, input });
const result = (id: string, content: Json) => ({ type: "tool_result", tool_use_id: id, content });
const image = { type: "base64", media_type: "image/png", data: "aGk=" };

test("a text comes after the system prompt", () => {
  expect(chatOf({})).toEqual({
    model: "demo/story",
    max_tokens: 9,
    messages: HELLO,
    stream: false,
  });
  expect(chatOf({ system: "Be brief." }).messages).toEqual([
    { role: "system", content: "Be brief." },
    ...HELLO,
  ]);
});

test.each([
  [true, true],
  [false, false],
  [null, false],
])("the request with stream %j streams: %s", (stream, streams) => {
  const chat = chatOf({ stream });
  expect(chat.stream).toBe(streams);
  expect(chat.stream_options).toEqual(streams ? { include_usage: true } : undefined);
});

test("the chat has one system message, without an agent's billing header", () => {
  const system = [text("x-anthropic-billing-header: cch=1f"), text("One"), text(""), text("Two")];
  expect(messagesOf([{ role: "system", content: "Three" }, ...HELLO], system)).toEqual([
    { role: "system", content: "One\n\nTwo\n\nThree" },
    ...HELLO,
  ]);
  expect(messagesOf(HELLO, [text("x-anthropic-billing-header: cch=1f")])).toEqual(HELLO);
});

test("a system message in the middle becomes a reminder in the user's turn", () => {
  const shout = { role: "system", content: "Now shout." };
  const reminder = "<system-reminder>\nNow shout.\n</system-reminder>";
  expect(messagesOf([...HELLO, shout])).toEqual([{ role: "user", content: `Hello\n${reminder}` }]);
  const called = { role: "assistant", content: [use("a", "clock", {})] };
  const told = { role: "user", content: [result("a", "noon")] };
  expect(messagesOf([...HELLO, called, shout, told])).toMatchObject([
    ...[{ role: "user" }, { role: "assistant" }, { role: "tool", content: "noon" }],
    { role: "user", content: reminder },
  ]);
});

test("blocks that only describe history become text or are left out", () => {
  const search = { type: "server_tool_use", id: "s", name: "web_search", input: {} };
  const found = { type: "web_search_tool_result", tool_use_id: "s", content: [] };
  expect(
    messagesOf([
      ...HELLO,
      { role: "assistant", content: [search, found, text("Done."), use("a", "find", {})] },
      { role: "user", content: [result("a", [{ type: "tool_reference", tool_name: "clock" }])] },
      { role: "assistant", content: [search] },
      { role: "system", content: [{ type: "tool_addition", tool: { name: "clock" } }] },
    ]),
  ).toMatchObject([
    ...HELLO,
    { role: "assistant", content: "Done.", tool_calls: [{ id: "a" }] },
    { role: "tool", content: "Found tool: clock" },
    { role: "user", content: "<system-reminder>\nAdded tool: clock\n</system-reminder>" },
  ]);
});

test("only the reasoning of the tool loop under way is passed on", () => {
  const turn = (thinking: string, ...more: Json[]) => ({
    role: "assistant",
    content: [{ type: "thinking", thinking, signature: "s" }, ...more],
  });
  const messages = messagesOf([
    ...HELLO,
    turn("old", text("Hi")),
    { role: "user", content: "Go" },
    turn("new", use("a", "clock", {})),
    { role: "user", content: [result("a", "noon"), text("Hurry")] },
  ]);
  const reasoning = { reasoning: "new", reasoning_content: "new" };
  expect(messages).toEqual([
    ...HELLO,
    { role: "assistant", content: "Hi" },
    { role: "user", content: "Go" },
    expect.objectContaining({ role: "assistant", ...reasoning }),
    { role: "tool", tool_call_id: "a", content: "noon" },
    { role: "user", content: "Hurry" },
  ]);
});

test("messages of one role in a row are one turn", () => {
  expect(
    messagesOf([
      { role: "user", content: "a" },
      { role: "user", content: [text("b"), text("c")] },
      { role: "assistant", content: "d" },
      { role: "assistant", content: [text("e")] },
      { role: "user", content: "f" },
    ]),
  ).toEqual([
    { role: "user", content: "a\nb\nc" },
    { role: "assistant", content: "de" },
    { role: "user", content: "f" },
  ]);
});

test("an answer that the request begins is the last message", () => {
  const messages = [...HELLO, { role: "assistant", content: "It is (" }];
  expect(messagesOf(messages)).toEqual(messages);
});

test("images are converted, by their data or their address", () => {
  const content = [
    { type: "image", source: image },
    { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
    text("What is it?"),
  ];
  expect(messagesOf([{ role: "user", content }])).toEqual([
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
        { type: "image_url", image_url: { url: "https://example.com/a.png" } },
        text("What is it?"),
      ],
    },
  ]);
});

test("documents and search results are converted", () => {
  const pdf = { type: "base64", media_type: "application/pdf", data: "JVBERg==" };
  const plain = { type: "text", media_type: "text/plain", data: "A fox." };
  const content: Json = [
    { type: "document", source: plain, title: "Fable" },
    { type: "document", source: { type: "content", content: [text("A crow.")] } },
    { type: "search_result", title: "Crows", source: "https://c.example", content: [text("Caw")] },
  ];
  expect(messagesOf([{ role: "user", content }])).toEqual([
    { role: "user", content: "Fable\nA fox.\nA crow.\nCrows\nhttps://c.example\nCaw" },
  ]);
  expect(
    messagesOf([{ role: "user", content: [{ type: "document", source: pdf, title: "a.pdf" }] }]),
  ).toEqual([
    {
      role: "user",
      content: [
        {
          type: "file",
          file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERg==" },
        },
      ],
    },
  ]);
});

test("calls and their results are converted, and images in results go with the user's text", () => {
  expect(
    messagesOf([
      ...HELLO,
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Hm", signature: "s" },
          { type: "redacted_thinking", data: "x" },
          text("Let me see."),
          use("a", "weather", { city: "Köln" }),
          use("b", "clock", {}),
        ],
      },
      {
        role: "user",
        content: [
          result("a", [text("Rain"), text("and wind"), { type: "image", source: image }]),
          { ...result("b", "no clock"), is_error: true },
          text("Go on"),
        ],
      },
      { role: "assistant", content: [use("c", "clock", {})] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "c" }] },
    ]),
  ).toEqual([
    ...HELLO,
    {
      role: "assistant",
      content: "Let me see.",
      ...{ reasoning: "Hm", reasoning_content: "Hm" },
      tool_calls: [
        { id: "a", type: "function", function: { name: "weather", arguments: '{"city":"Köln"}' } },
        { id: "b", type: "function", function: { name: "clock", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "a", content: "Rain\nand wind" },
    { role: "tool", tool_call_id: "b", content: "Error:\nno clock" },
    {
      role: "user",
      content: [
        { type: "image_url", image_url: { url: "data:image/png;base64,aGk=" } },
        text("Go on"),
      ],
    },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c", type: "function", function: { name: "clock", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c", content: "" },
  ]);
});

const TOOL = { name: "weather", description: "Tells it", input_schema: { type: "object" } };
const FUNCTION = {
  type: "function",
  function: { name: "weather", description: "Tells it", parameters: { type: "object" } },
};

test.each<[Json, Body]>([
  [{ type: "auto" }, { tool_choice: "auto" }],
  [{ type: "any" }, { tool_choice: "required" }],
  [{ type: "none" }, { tool_choice: "none" }],
  [
    { type: "tool", name: "weather" },
    { tool_choice: { type: "function", function: { name: "weather" } } },
  ],
  [
    { type: "any", disable_parallel_tool_use: true },
    { tool_choice: "required", parallel_tool_calls: false },
  ],
  [null, {}],
])("tools are converted, with the choice %j", (tool_choice, expected) => {
  const { model, max_tokens, messages, stream, ...rest } = chatOf({
    tools: [TOOL, { ...TOOL, type: "custom", strict: true, cache_control: { type: "ephemeral" } }],
    tool_choice,
  });
  expect(rest).toEqual({
    tools: [FUNCTION, { ...FUNCTION, function: { ...FUNCTION.function, strict: true } }],
    ...expected,
  });
});

test("a tool choice without tools is dropped", () => {
  expect(chatOf({ tools: [], tool_choice: { type: "auto" } })).toEqual(chatOf({}));
});

test("sampling, stop sequences, format and effort are converted", () => {
  const schema = { type: "object" };
  expect(
    chatOf({
      temperature: 0.5,
      top_p: 0.9,
      stop_sequences: ["END"],
      output_config: { effort: "max", format: { type: "json_schema", schema } },
    }),
  ).toMatchObject({
    temperature: 0.5,
    top_p: 0.9,
    stop: ["END"],
    reasoning_effort: "high",
    response_format: { type: "json_schema", json_schema: { name: "output", schema } },
  });
  expect(chatOf({ output_config: { effort: "low" } })).toMatchObject({ reasoning_effort: "low" });
});

test("a server's own parameters are passed on; those of the messages API only are not", () => {
  const own = { top_k: 40, seed: 7, chat_template_kwargs: { enable_thinking: false } };
  const theirs = {
    metadata: { user_id: "u" },
    thinking: { type: "enabled", budget_tokens: 1_024 },
    service_tier: "auto",
    context_management: { edits: [] },
    temperature: null,
  };
  expect(chatRequestOf({ model: "m", messages: HELLO, ...own, ...theirs })).toEqual({
    model: "m",
    messages: HELLO,
    stream: false,
    ...own,
  });
});

test.each<[string, Body]>([
  ["messages.0.content.1", { messages: [{ role: "user", content: [text("a"), { type: "x" }] }] }],
  [
    "messages.0.content.0.source",
    { messages: [{ role: "user", content: [{ type: "image", source: { type: "file" } }] }] },
  ],
  [
    "messages.0.content.0",
    { messages: [{ role: "user", content: [{ type: "compaction", content: null }] }] },
  ],
  [
    "messages.0.content.0.source",
    { messages: [{ role: "user", content: [{ type: "document", source: { type: "url" } }] }] },
  ],
  ["tool_choice", { messages: HELLO, tools: [], tool_choice: { type: "any" } }],
  ["tools.1", { messages: HELLO, tools: [TOOL, { type: "bash_20250124", name: "bash" }] }],
])("the parameter %s is not supported by chats", (param, request) => {
  const call = () => chatRequestOf({ model: "m", ...request });
  expect(call).toThrow(NotSupportedByChat);
  expect(call).toThrow(expect.objectContaining({ param }));
});

const REQUEST: Record<string, Json> = {
  system: "Be brief.",
  messages: [
    { role: "user", content: "Hello" },
    {
      role: "assistant",
      content: [
        { type: "text", text: "Let me see." },
        { type: "tool_use", id: "a", name: "weather", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "a", content: "Rain" },
        { type: "text", text: "Go on" },
      ],
    },
  ],
  tools: [{ name: "weather" }],
};

test.each([
  ["messages[0].content", "system.content"],
  ["messages.1", "messages.0"],
  ["messages[2].tool_calls[0].function.arguments", "messages.1.content.1.arguments"],
  ["messages[3].content: too long", "messages.2.content.0.content: too long"],
  ["messages[4]", "messages.2"],
  ["Invalid 'messages[1].content[0].type'.", "Invalid 'messages.0.content.0.type'."],
  ["tools[0].function.name", "tools.0.name"],
  ["response_format", "output_config.format"],
  ["reasoning_effort must be low", "output_config.effort must be low"],
  ["max_tokens", "max_tokens"],
  ["messages[9]", "messages[9]"],
  ["the model will stop", "the model will stop"],
])("the container's path %s is the caller's path %s", (path, expected) => {
  expect(toCallerPaths(REQUEST)(path)).toBe(expected);
});
