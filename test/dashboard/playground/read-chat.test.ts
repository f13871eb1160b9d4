/** A run's input becomes its conversation again, in each convention. */
import { describe, expect, test } from "vitest";
import { newAnswer, type Turn } from "../../../src/dashboard/playground/chat/conversation.ts";
import { chatInput, readTools } from "../../../src/dashboard/playground/chat/input.ts";
import { readChat } from "../../../src/dashboard/playground/chat/read-input.ts";
import type { ChatWire } from "../../../src/dashboard/playground/chat/wire.ts";
import type { Json } from "../../../src/protocol/common.ts";

const URL = "https://auspex.test/v1/uploads/1";
const TURNS: Turn[] = [
  {
    role: "user",
    text: "Which cat?",
    pictures: [{ url: URL, name: "Image 1", preview: "" }],
  },
  {
    ...newAnswer(0),
    state: "done",
    text: "Let me see.",
    calls: [{ id: "call_1", name: "weather", arguments: '{"city":"Oxford"}', result: "21" }],
  },
  { ...newAnswer(0), state: "done", text: "The grin." },
  { role: "user", text: "Thanks", pictures: [] },
];
const parameters = { type: "object", properties: {} };
const OPTIONS = {
  system: "Be brief.",
  tools: [{ name: "weather", description: "Of a city", parameters }],
  settings: { temperature: 0 },
};

test.each<ChatWire>(["chat", "responses", "messages"])(
  "the conversation of a %s call is read again",
  (wire) => {
    const read = readChat(wire, { ...chatInput(wire, TURNS, OPTIONS), stream: true });
    expect(read).toMatchObject({ system: "Be brief.", turns: TURNS, settings: { temperature: 0 } });
    expect(readTools(read?.tools ?? "")).toEqual({ tools: OPTIONS.tools });
  },
);

const turnsOf = (wire: ChatWire, input: Parameters<typeof readChat>[1]) =>
  readChat(wire, input)?.turns;

test("other forms of messages that clients write are read", () => {
  expect(turnsOf("responses", { input: "Hello" })).toMatchObject([{ role: "user", text: "Hello" }]);
  const message = { role: "assistant", content: "Hm.", refusal: null, annotations: [] };
  expect(turnsOf("chat", { messages: [message] })).toMatchObject([{ text: "Hm.", state: "done" }]);
  const thinking = [{ type: "thinking", thinking: "A cat.", signature: "…" }];
  const said = [...thinking, { type: "text", text: "Yes." }];
  expect(turnsOf("messages", { messages: [{ role: "assistant", content: said }] })).toMatchObject([
    { text: "Yes.", reasoning: "A cat." },
  ]);
  const source = { type: "base64", media_type: "image/png", data: "AAAA" };
  const asked = [{ role: "user", content: [{ type: "image", source }] }];
  expect(turnsOf("messages", { messages: asked })).toMatchObject([
    { pictures: [{ url: "data:image/png;base64,AAAA" }] },
  ]);
});

describe("nothing is lost without a word", () => {
  const user = { role: "user", content: "Hello" };
  test.each([
    ["no messages", {}],
    ["a message that is none", { messages: ["Hello"] }],
    ["another convention", { messages: [user], instructions: "Be brief." }],
    ["a second system message", { messages: [user, { role: "system", content: "Stop" }] }],
    ["a sound", { messages: [{ role: "user", content: [{ type: "input_audio" }] }] }],
    [
      "a picture without an address",
      { messages: [{ role: "user", content: [{ type: "image" }] }] },
    ],
    [
      "a picture that is to be looked at closely",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "image_url", image_url: { url: "data:,", detail: "high" } }],
          },
        ],
      },
    ],
    ["a name", { messages: [{ ...user, name: "Ada" }] }],
    [
      "a result without its call",
      { messages: [{ role: "tool", tool_call_id: "1", content: "2" }] },
    ],
    ["a tool that must be called", { messages: [user], tool_choice: "required" }],
    ["tools of another kind", { messages: [user], tools: [{ type: "web_search" }] }],
  ])("an input with more than the chat can show is not read: %s", (_, input) => {
    expect(readChat("chat", input)).toBeUndefined();
  });
});

test("deeply nested tools do not become megabytes", () => {
  let parameters: Json = Array.from({ length: 20_000 }, () => 0);
  for (let depth = 0; depth < 100; depth++) parameters = [parameters];
  const tools = [{ type: "function", function: { name: "a", parameters: { deep: parameters } } }];
  const read = readChat("chat", { messages: [{ role: "user", content: "Hi" }], tools });
  expect(read?.tools.length ?? 0).toBeLessThan(2 * JSON.stringify(tools).length);
});
