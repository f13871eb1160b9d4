/** Requests in the form that strict servers and chat templates accept, for any client. */

import { describe, expect, test } from "vitest";
import * as messages from "../../../src/domain/anthropic/chat-request.ts";
import { plainMessages } from "../../../src/domain/anthropic/plain-blocks.ts";
import { chatRequestOf } from "../../../src/domain/openai/chat-request.ts";
import { strictResponse } from "../../../src/domain/openai/response-messages.ts";
import { NotSupportedByChat, strictChat } from "../../../src/domain/openai/strict-chat.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { objectionTo } from "../../journey/models/oracle/strict.mjs";

type Body = Record<string, Json>;

const user = (content: Json) => ({ role: "user", content });
const system = (content: Json) => ({ role: "system", content });
const developer = (content: Json) => ({ role: "developer", content });
const remind = (text: string) => `<system-reminder>\n${text}\n</system-reminder>`;

const fn = { type: "function", function: { name: "clock", parameters: {} } };
const plain = { type: "function", name: "clock", parameters: {} };
const image_url = "data:image/png;base64,AAAA";

/** Each convention with a function that converts a request into the chat that a container gets. */
const CHATS: [string, (more: Body) => Body][] = [
  ["a chat", (more) => strictChat({ model: "m", messages: [user("Hi")], ...more })],
  ["a response", (more) => chatRequestOf({ model: "m", input: "Hi", ...more })],
  ["a message", (more) => messages.chatRequestOf({ model: "m", messages: [user("Hi")], ...more })],
];

describe.each(CHATS)("%s", (name, chatOf) => {
  const auto = name === "a message" ? { type: "auto", disable_parallel_tool_use: true } : "auto";

  test.each<Body>([
    { tools: [], tool_choice: auto, parallel_tool_calls: true, max_tool_calls: 3 },
    { tool_choice: auto, parallel_tool_calls: false },
    { tools: null, tool_choice: "none" },
    { stream: false, stream_options: { include_usage: true } },
  ])("fields without the fields that they belong to are dropped: %j", (more) => {
    const chat = chatOf(more);
    expect(objectionTo(chat)).toBeUndefined();
    expect(Object.keys(chat).filter((field) => /tool|stream_options/.test(field))).toEqual([]);
  });

  test("a tool that must be called and is not in the list is refused", () => {
    const choice = name === "a message" ? { type: "any" } : "required";
    expect(() => chatOf({ tools: [], tool_choice: choice })).toThrow(NotSupportedByChat);
  });

  test.each([
    ["none", "low"],
    ["minimal", "low"],
    ["low", "low"],
    ["medium", "medium"],
    ["xhigh", "high"],
    ["max", "high"],
  ])("the reasoning effort %s becomes %s", (effort, known) => {
    const chat = chatOf(
      { "a chat": { reasoning_effort: effort }, "a response": { reasoning: { effort } } }[name] ?? {
        output_config: { effort },
      },
    );
    expect(chat.reasoning_effort).toBe(known);
    expect(objectionTo(chat)).toBeUndefined();
  });
});

test("a response that allows none of its tools has none, unless it must call one", () => {
  const allowed = (mode: string) => ({
    ...{ model: "m", input: "Hi", tools: [plain] },
    tool_choice: { type: "allowed_tools", mode, tools: [{ type: "function", name: "x" }] },
  });
  expect(chatRequestOf(allowed("auto"))).not.toHaveProperty("tool_choice");
  expect(() => chatRequestOf(allowed("required"))).toThrow(NotSupportedByChat);
});

describe("system messages", () => {
  const [one, two, three] = [
    developer("One"),
    system([{ type: "text", text: "Two" }]),
    system("3"),
  ];
  const expected = [system("One\n\nTwo"), user(`Hi\n${remind("3")}\nGo`)];
  const later = [one, two, user("Hi"), three, user("Go")];

  test("system messages of a chat come first, or in the user's turn", () => {
    expect(strictChat({ messages: later }).messages).toEqual(expected);
    const same = [system("Be brief."), user("Hi"), { role: "assistant", content: "Hello" }];
    expect(strictChat({ messages: same }).messages).toEqual(same);
  });

  test("system messages of a response become those of a chat, after its instructions", () => {
    const items = [developer("One"), system("Two"), ...later.slice(2)];
    expect(chatRequestOf({ input: items }).messages).toEqual(expected);
    expect(chatRequestOf({ input: items, instructions: "0" }).messages).toEqual([
      system("0\n\nOne\n\nTwo"),
      expected[1],
    ]);
  });

  test("system messages of a response stay items where the server has responses", () => {
    const item = { type: "message", role: "system", content: "0\n\nOne\n\nTwo" };
    const { input, instructions } = strictResponse({ input: later, instructions: "0" });
    expect(instructions).toBeUndefined();
    expect(input).toEqual([item, { type: "message", ...user(`Hi\n${remind("3")}\nGo`) }]);
  });

  test("system messages of a message go to its system prompt where the server has messages", () => {
    const { request } = plainMessages({
      system: "0",
      messages: [system("One"), ...later.slice(2)],
    });
    expect(request).toEqual({ system: "0\n\nOne", messages: [expected[1]] });
  });

  test("system messages follow the results of tools, which follow their calls", () => {
    const call = { type: "function_call", call_id: "a", name: "clock", arguments: "{}" };
    const output = { type: "function_call_output", call_id: "a", output: "noon" };
    const chat = chatRequestOf({
      input: [user("Hi"), call, developer("x"), output],
      tools: [plain],
    });
    expect(chat.messages).toMatchObject([
      ...[user("Hi"), { role: "assistant" }, { role: "tool", content: "noon" }],
      user(remind("x")),
    ]);
    expect(objectionTo(chat)).toBeUndefined();
  });
});

describe("images in results of tools follow all results, in a message of the user", () => {
  const calls = ["a", "b"].map((id) => ({ id, ...fn }));
  const image = { type: "image_url", image_url: { url: image_url } };
  const expected = [
    user("Look"),
    { role: "assistant", tool_calls: [{ id: "a" }, { id: "b" }] },
    { role: "tool", tool_call_id: "a", content: "It is" },
    { role: "tool", tool_call_id: "b", content: "noon" },
    user([image, { type: "text", text: "Well?" }]),
  ];

  test("images in results of tools are moved in a chat", () => {
    const tool = (id: string, content: Json) => ({ role: "tool", tool_call_id: id, content });
    const chat = strictChat({
      tools: [fn],
      messages: [
        ...[user("Look"), { role: "assistant", content: null, tool_calls: calls }],
        ...[tool("a", [{ type: "text", text: "It is" }, image]), tool("b", "noon"), user("Well?")],
      ],
    });
    expect(chat.messages).toMatchObject(expected);
    expect(objectionTo(chat)).toBeUndefined();
  });

  test("images in results of tools are moved in a response", () => {
    const call = (call_id: string) => ({ type: "function_call", call_id, name: "clock" });
    const output = (call_id: string, output: Json) => ({
      ...{ type: "function_call_output", call_id, output },
    });
    const parts: Body[] = [
      { type: "input_text", text: "It is" },
      { type: "input_image", image_url },
    ];
    const chat = chatRequestOf({
      input: [
        ...[user("Look"), call("a"), call("b"), output("a", parts), output("b", "noon")],
        user("Well?"),
      ],
    });
    expect(chat.messages).toMatchObject(expected);
    expect(objectionTo(chat)).toBeUndefined();
  });
});

describe("turns", () => {
  const assistant = (content: Json, more: Body = {}) => ({ role: "assistant", content, ...more });
  const call = (id: string) => ({ ...fn, id });
  const result = (id: string, content: Json) => ({ role: "tool", tool_call_id: id, content });
  const item = (call_id: string) => ({ type: "function_call", call_id, name: "clock" });
  const output = (call_id: string) => ({ type: "function_call_output", call_id, output: "noon" });
  const expected = [
    user("Hi"),
    assistant("One\nTwo", { tool_calls: [{ id: "a" }, { id: "b" }] }),
    ...[result("a", "noon"), result("b", "noon"), user("Well?")],
  ];

  test("turns of a chat alternate, and results of tools follow their calls", () => {
    const chat = strictChat({
      tools: [fn],
      messages: [
        ...[user("Hi"), assistant("One"), assistant("Two", { annotations: [], audio: null })],
        ...[
          assistant("", { tool_calls: [call("a")] }),
          assistant(null, { tool_calls: [call("b")] }),
        ],
        ...[result("a", "noon"), user("Well?"), result("b", "noon")],
      ],
    });
    expect(chat.messages).toMatchObject(expected);
    expect(objectionTo(chat)).toBeUndefined();
  });

  test("turns of a response alternate, and results of tools follow their calls", () => {
    const chat = chatRequestOf({
      tools: [plain],
      input: [
        ...[
          user("Hi"),
          assistant("One"),
          item("a"),
          assistant([{ type: "output_text", text: "Two" }]),
        ],
        ...[item("b"), user("Well?"), output("a"), output("b")],
      ],
    });
    expect(chat.messages).toMatchObject(expected);
    expect(objectionTo(chat)).toBeUndefined();
  });

  test("turns of messages alternate where the server has messages", () => {
    const given = [user("Hi"), assistant("One"), assistant("Two"), user([]), user("Go")];
    const { request } = plainMessages({ messages: given });
    expect(request.messages).toEqual([user("Hi"), assistant("OneTwo"), user("Go")]);
  });

  test("turns with a name stay apart, because the name says who speaks", () => {
    const messages = ["Ada", "Bob"].map((name) => ({ ...user("Hi"), name }));
    expect(strictChat({ messages }).messages).toEqual(messages);
  });

  test("turns of a chat have the reasoning in both of its fields", () => {
    const { messages } = strictChat({
      messages: [user("Hi"), assistant("One", { reasoning_content: "Hm" }), user("Go")],
    });
    expect(messages).toContainEqual(assistant("One", { reasoning: "Hm", reasoning_content: "Hm" }));
  });

  test("turns without text have empty text: a result of a tool, and a system message", () => {
    const asked = [user("Hi"), assistant(null, { tool_calls: [call("a")] }), result("a", null)];
    const { messages } = strictChat({ tools: [fn], messages: [system(null), ...asked] });
    expect(messages).toMatchObject([...asked.slice(0, 2), result("a", "")]);
  });
});

test.each([
  ['{"city":"Rome"}', '{"city":"Rome"}'],
  ["", "{}"],
  ['{"city":"Ro', '{"input":"{\\"city\\":\\"Ro"}'],
  ["[1]", '{"input":"[1]"}'],
])("the arguments of an earlier call become an object: %s", (given, expected) => {
  const item = { type: "function_call", call_id: "a", name: "clock", arguments: given };
  const called = { id: "a", type: "function", function: { name: "clock", arguments: given } };
  const said = { role: "assistant", content: null, tool_calls: [called] };
  const chats = [
    strictChat({ tools: [fn], messages: [user("Hi"), said] }),
    chatRequestOf({ tools: [plain], input: [user("Hi"), item] }),
  ];
  for (const chat of chats) {
    expect(chat.messages).toMatchObject([
      {},
      { tool_calls: [{ function: { arguments: expected } }] },
    ]);
    expect(objectionTo(chat)).toBeUndefined();
  }
  expect(strictResponse({ input: [item] }).input).toEqual([{ ...item, arguments: expected }]);
});

test("a response has parts of unknown types as text where the server has responses", () => {
  const part = { type: "new_part", value: 1 };
  const known = { type: "input_image", image_url };
  const { input } = strictResponse({
    input: [
      { role: "assistant", content: [{ type: "refusal", refusal: "No" }, part] },
      { type: "function_call_output", call_id: "a", output: [known, part] },
    ],
  });
  expect(input).toMatchObject([
    { content: [{ type: "refusal" }, { type: "output_text", text: JSON.stringify(part) }] },
    { output: [known, { type: "input_text", text: JSON.stringify(part) }] },
  ]);
});

test("a chat that allows some of its tools has only these", () => {
  const other = { type: "function", function: { name: "x" } };
  const allowed = { mode: "required", tools: [{ type: "function", function: { name: "x" } }] };
  const tool_choice = { type: "allowed_tools", allowed_tools: allowed };
  const chat = strictChat({ messages: [user("Hi")], tools: [fn, other], tool_choice });
  expect(chat).toMatchObject({ tools: [other], tool_choice: "required" });
  expect(objectionTo(chat)).toBeUndefined();
});

test("a chat without functions drops function_call", () => {
  const chat = strictChat({ messages: [user("Hi")], functions: [], function_call: "auto" });
  expect(Object.keys(chat)).toEqual(["messages"]);
});

test("only the reasoning of the tool loop under way is passed on", () => {
  const reasoning = (text: string) => ({
    type: "reasoning",
    ...{ summary: [], content: [{ type: "reasoning_text", text }] },
  });
  const call = { type: "function_call", call_id: "a", name: "clock", arguments: "{}" };
  const input = [
    ...[user("Hi"), reasoning("old"), { role: "assistant", content: "Hello" }],
    ...[user("Go"), reasoning("new"), call],
    { type: "function_call_output", call_id: "a", output: "noon" },
  ];
  const { messages: said } = chatRequestOf({ input, tools: [plain] });
  expect(said).toMatchObject([
    user("Hi"),
    expect.not.objectContaining({ reasoning: expect.anything() }),
    user("Go"),
    { role: "assistant", reasoning: "new", reasoning_content: "new" },
    { role: "tool" },
  ]);
});

test("tens of thousands of messages in a row are joined at once", () => {
  const content = "x".repeat(100);
  const messages = Array.from({ length: 100_000 }, () => ({ role: "user", content }));
  const { messages: joined } = strictChat({ messages });
  expect(joined).toEqual([
    { role: "user", content: messages.map((one) => one.content).join("\n") },
  ]);
});

test("tens of thousands of results of one call follow it at once", () => {
  const call = { role: "assistant", content: null, tool_calls: [{ id: "a", type: "function" }] };
  const result = { role: "tool", tool_call_id: "a", content: "" };
  const messages = [call, ...Array.from({ length: 100_000 }, () => result)];
  expect(strictChat({ messages }).messages).toHaveLength(100_001);
});
