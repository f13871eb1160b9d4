/** Items of a conversation that containers do not know. */

import { describe, expect, test } from "vitest";
import { chatRequestOf } from "../../../src/domain/openai/chat-request.ts";
import {
  plainItems,
  withLoadedTools,
  withPlainTools,
} from "../../../src/domain/openai/plain-items.ts";
import { NotSupportedByChat } from "../../../src/domain/openai/strict-chat.ts";
import { withoutHostedTools } from "../../../src/domain/openai/tools.ts";
import type { Fields } from "../../../src/lib/fields.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { objections } from "../../published/validate.ts";
import { delta, headWith, logOf, tellUnchecked } from "./response-log.ts";

const hello = { role: "user", content: "Hi" };
const plain = (...items: Fields[]) => {
  const read = plainItems({ input: [hello, ...items] });
  return { items: read.items.slice(1).map(({ entry }) => entry), omitted: read.omittedTypes };
};

describe("a call and its result that are no function's become those of one", () => {
  const image_url = "data:image/png;base64,AAAA";
  test.each<[Fields, Fields, string, Json]>([
    [
      { type: "shell_call", call_id: "1", action: { commands: ["ls"] } },
      { type: "shell_call_output", call_id: "1", output: [{ stdout: "a", stderr: "" }] },
      ...(["shell", '[{"stdout":"a","stderr":""}]'] as const),
    ],
    [
      { type: "local_shell_call", id: "x", call_id: "1", action: { type: "exec" } },
      { type: "local_shell_call_output", id: "1", output: "a" },
      ...(["local_shell", "a"] as const),
    ],
    [
      { type: "tool_search_call", call_id: "1", execution: "client", arguments: { query: "git" } },
      { type: "tool_search_output", call_id: "1", tools: [{ type: "function", name: "log" }] },
      ...(["tool_search", "Found tools: log"] as const),
    ],
    [
      { type: "computer_call", call_id: "1", action: { type: "click" } },
      {
        ...{ type: "computer_call_output", call_id: "1" },
        output: { type: "computer_screenshot", image_url },
      },
      "computer",
      [{ type: "input_image", image_url }],
    ],
    [
      { type: "brand_new_call", call_id: "1", goal: "x" },
      { type: "brand_new_call_output", call_id: "1", verdict: "y" },
      ...(["brand_new", '{"verdict":"y"}'] as const),
    ],
  ])("the call %j and its result become those of a function", (call, result, name, output) => {
    const { items, omitted } = plain(call, result);
    expect(items).toEqual([
      { type: "function_call", call_id: "1", name, arguments: expect.any(String) },
      { type: "function_call_output", call_id: "1", output },
    ]);
    expect(omitted).toEqual([]);
  });
});

test("a call of an MCP server becomes a call with its result", () => {
  const call = { type: "mcp_call", id: "m", server_label: "s", name: "log", arguments: "{}" };
  expect(plain({ ...call, output: "done" }).items).toEqual([
    { type: "function_call", call_id: "m", name: "log", arguments: "{}" },
    { type: "function_call_output", call_id: "m", output: "done" },
  ]);
});

test("items that only OpenAI's service makes or reads are left out and named", () => {
  const types = ["web_search_call", "file_search_call", "image_generation_call", "mcp_list_tools"];
  const sealed = { type: "agent_message", content: [{ type: "encrypted_content" }] };
  const { items, omitted } = plain(...types.map((type) => ({ type, id: type })), sealed);
  expect({ items, omitted }).toEqual({ items: [], omitted: [...types, "agent_message"] });
});

test("items stay if the request has the hosted tool that they belong to", () => {
  const search = { type: "web_search_call", id: "w" };
  const read = plainItems({ input: [search], tools: [{ type: "web_search" }] });
  expect(read).toMatchObject({ items: [{ entry: search }], omittedTypes: [] });
});

test("a message of another agent becomes one of the user", () => {
  const content = [{ type: "input_text", text: "Ready." }];
  const message = { type: "agent_message", author: "/root/a", recipient: "/root", content };
  expect(plain(message).items).toEqual([
    {
      ...{ type: "message", role: "user" },
      content: [{ type: "input_text", text: "Message from /root/a to /root:\nReady." }],
    },
  ]);
});

test("a compaction that cannot be read here is refused by its place", () => {
  const refused = () => plain({ type: "compaction", encrypted_content: "x" });
  expect(refused).toThrow(NotSupportedByChat);
  expect(refused).toThrow(expect.objectContaining({ param: "input[1]" }));
});

test("tools that the conversation brings become tools of the request, each once", () => {
  const [log, add] = [
    { type: "function", name: "log" },
    { type: "function", name: "add" },
  ];
  const items: Fields[] = [
    { type: "additional_tools", role: "developer", tools: [log, add] },
    { type: "tool_search_output", call_id: "1", tools: [add, { type: "namespace", name: "git" }] },
  ];
  const { tools } = withLoadedTools({ input: items, tools: [log] });
  expect(tools).toEqual([log, add, { type: "namespace", name: "git" }]);
  expect(plain(...items).items).toEqual([]);
});

const parameters = { type: "object", properties: { path: { type: "string" } } };
const fn = (name: string, more: Fields = {}): Fields => ({
  ...{ type: "function", name, description: `Does ${name}`, parameters, strict: false },
  ...more,
});
const PATCH: Fields = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files",
  format: { type: "grammar", syntax: "lark", definition: 'start: "*"' },
};
const GIT: Fields = {
  type: "namespace",
  name: "mcp__git",
  description: "Of the repository",
  tools: [fn("log"), { type: "custom", name: "raw", description: "As typed" }],
};
const TOOLS = [fn("shell"), PATCH, GIT, { type: "web_search" }];

describe("what the container is asked", () => {
  const plain = withPlainTools({ tools: TOOLS.slice(0, 3) });

  test("the container's tools are functions: with both names for a namespace, with one string for a custom tool", () => {
    const { tools } = plain;
    const oneString = {
      type: "object",
      properties: { input: { type: "string" } },
      ...{ required: ["input"], additionalProperties: false },
    };
    expect(tools).toEqual([
      fn("shell"),
      {
        ...{ type: "function", name: "apply_patch", parameters: oneString, strict: null },
        description: 'Edits files\n\nIts `input` follows this grammar (lark):\nstart: "*"',
      },
      fn("mcp__git__log", { description: "Of the repository\n\nDoes log" }),
      {
        ...{ type: "function", name: "mcp__git__raw", parameters: oneString, strict: null },
        description: "As typed",
      },
    ]);
    const chat = chatRequestOf({ model: "a/b", input: "Hi", tools: TOOLS.slice(0, 3) });
    expect(objections("openai", "CreateChatCompletionRequest", chat)).toEqual([]);
  });

  test("the container's tools have names that are unique and not too long", () => {
    const long = "n".repeat(60);
    const named = (name: string, ...tools: Fields[]) => ({ type: "namespace", name, tools });
    const { tools } = withPlainTools({
      tools: [
        named("a", fn("b"), fn("b")),
        named("a__", fn("b")),
        named(long, fn("first"), fn("firsts")),
        fn("a__b"),
      ],
    });
    const names = Array.isArray(tools) ? tools.map((tool) => (tool as Fields).name) : [];
    expect(names).toEqual([
      ...["a__b_2", "a__b_2", "a__b_3"],
      ...[`${long}__fi`, `${long}___2`],
      "a__b",
    ]);
  });

  test("the container's tool choice has the same names", () => {
    const choose = (tool_choice: Json) => withPlainTools({ tools: TOOLS, tool_choice }).tool_choice;
    expect(choose("auto")).toBe("auto");
    expect(choose({ type: "custom", name: "apply_patch" })).toEqual({
      ...{ type: "function", name: "apply_patch" },
    });
    const git = { type: "function", name: "log", namespace: "mcp__git" };
    expect(choose(git)).toEqual({ type: "function", name: "mcp__git__log" });
    expect(choose({ type: "allowed_tools", mode: "auto", tools: [git] })).toEqual({
      ...{ type: "allowed_tools", mode: "auto" },
      tools: [{ type: "function", name: "mcp__git__log" }],
    });
  });

  test("the container's request has the calls of earlier turns, and their results", () => {
    const input: Fields[] = [
      { type: "function_call", call_id: "1", namespace: "mcp__git", name: "log", arguments: "{}" },
      { type: "custom_tool_call", call_id: "2", name: "apply_patch", input: 'a "b"' },
      { type: "function_call_output", call_id: "1", output: "one" },
      { type: "custom_tool_call_output", call_id: "2", output: "two" },
      { type: "function_call", call_id: "3", namespace: "gone", name: "x", arguments: "{}" },
    ];
    const { messages } = chatRequestOf({ model: "a/b", input, tools: TOOLS.slice(0, 3) });
    const call = (id: string, name: string, args: string) => ({
      ...{ id, type: "function" },
      function: { name, arguments: args },
    });
    expect(messages).toEqual([
      {
        ...{ role: "assistant", content: null },
        tool_calls: [
          call("1", "mcp__git__log", "{}"),
          call("2", "apply_patch", JSON.stringify({ input: 'a "b"' })),
        ],
      },
      { role: "tool", tool_call_id: "1", content: "one" },
      { role: "tool", tool_call_id: "2", content: "two" },
      { role: "assistant", content: null, tool_calls: [call("3", "gone__x", "{}")] },
    ]);
  });
});

describe("what the model calls", () => {
  const called = (name: string, ...args: string[]) => {
    const pieces = args.map((one) => ({ index: 0, function: { arguments: one } }));
    const [first, ...rest] = pieces;
    const log = logOf([
      delta({ tool_calls: [{ ...first, id: "1", function: { ...first?.function, name } }] }),
      ...rest.map((piece) => delta({ tool_calls: [piece] })),
      delta({}, "tool_calls"),
    ]);
    const { events, resource } = tellUnchecked(log, { tools: TOOLS });
    for (const event of events.filter((one) => !("response" in one))) {
      expect(objections("openai", "ResponseStreamEvent", event)).toEqual([]);
    }
    return { events: events.filter(({ item_id }) => item_id), item: resource.output[0] };
  };

  test("a call of the model becomes a function in its namespace", () => {
    const { item, events } = called("mcp__git__log", '{"a"', ":1}");
    expect(item).toMatchObject({
      ...{ type: "function_call", namespace: "mcp__git", name: "log", arguments: '{"a":1}' },
    });
    expect(events.at(-1)).toMatchObject({ name: "log", arguments: '{"a":1}' });
  });

  test("a call of the model becomes a custom tool, whose input comes once it is whole", () => {
    const { item, events } = called("apply_patch", '{"inp', 'ut":"*** \\"Begin\\""}');
    const input = '*** "Begin"';
    const id = expect.stringMatching(/^ctc_/);
    expect(item).toMatchObject({ id, type: "custom_tool_call", name: "apply_patch", input });
    expect(events).toMatchObject([
      { type: "response.custom_tool_call_input.delta", delta: input },
      { type: "response.custom_tool_call_input.done", input },
    ]);
  });

  test.each([
    ['{"input":"cut', '{"input":"cut'],
    ["*** Begin", "*** Begin"],
    ['{"patch":"a"}', '{"patch":"a"}'],
  ])(
    "a call of a custom tool has all that the model sends instead of a string: %s",
    (args, input) => {
      expect(called("mcp__git__raw", args).item).toMatchObject({ namespace: "mcp__git", input });
    },
  );

  test("a call is converted back in a container's own events", () => {
    const item = { type: "function_call", call_id: "c", name: "apply_patch" };
    const args = JSON.stringify({ input: "*" });
    const log = logOf([
      { type: "response.output_item.added", output_index: 0, item: { ...item, arguments: "" } },
      { type: "response.function_call_arguments.delta", output_index: 0, delta: args },
      { type: "response.output_item.done", item: { ...item, id: "new", arguments: args } },
      { type: "response.completed", response: { status: "completed", output: [item] } },
    ]);
    const { resource } = tellUnchecked(log, { tools: TOOLS });
    expect(resource.output).toMatchObject([{ type: "custom_tool_call", input: "*" }]);
  });
});

describe("tools that only others have", () => {
  const SCHEMA = { properties: { tools: { items: { properties: { type: { enum: ["mcp"] } } } } } };
  const ask = (tool_choice: Json | undefined, tools: Json[] = TOOLS, schema: Fields = {}) => {
    const { request, ...said } = withoutHostedTools(
      { ...headWith().request, tools, ...(tool_choice !== undefined && { tool_choice }) },
      schema,
    );
    return { ...said, tools: request.tools, choice: request.tool_choice };
  };
  const kept = TOOLS.slice(0, 3);

  test("a hosted tool is left out where the choice does not demand it", () => {
    for (const choice of [undefined, "auto", "none", "required"]) {
      expect(ask(choice)).toEqual({
        ...{ omittedTypes: ["web_search"], requiredType: undefined },
        ...{ tools: kept, choice },
      });
    }
  });

  test("a hosted tool that the choice demands is named", () => {
    expect(ask({ type: "web_search" })).toMatchObject({ requiredType: "web_search" });
    expect(ask("required", [{ type: "web_search" }])).toMatchObject({ requiredType: "web_search" });
    const allowed = { type: "allowed_tools", tools: [{ type: "web_search" }] };
    expect(ask({ ...allowed, mode: "required" })).toMatchObject({ requiredType: "web_search" });
    expect(ask({ ...allowed, mode: "auto" })).toMatchObject({
      ...{ requiredType: undefined, choice: { ...allowed, mode: "auto", tools: [] } },
    });
  });

  test("a hosted tool stays where the version's schema names it", () => {
    const tools = [{ type: "mcp" }, { type: "web_search" }];
    expect(ask("auto", tools, SCHEMA)).toMatchObject({
      ...{ tools: [{ type: "mcp" }], omittedTypes: ["web_search"] },
    });
    const either: Fields = { anyOf: [{ properties: { type: { const: "mcp" } } }, {}] };
    const schema = { properties: { tools: { items: either } } };
    expect(ask({ type: "mcp" }, tools, schema).requiredType).toBeUndefined();
  });

  test("a tool without a type is a mistake, and no hosted tool", () => {
    expect(ask("auto", [{ name: "x" }]).tools).toEqual([{ name: "x" }]);
  });
});
