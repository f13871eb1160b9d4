/** Items of a conversation that containers do not know. */
import { describe, expect, test } from "vitest";
import { plainItems, withLoadedTools } from "../../../src/domain/openai/plain-items.ts";
import { NotSupportedByChat } from "../../../src/domain/openai/strict-chat.ts";
import type { Json } from "../../../src/protocol/common.ts";

type Fields = Record<string, Json>;

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
