/** The input that a version gets for a conversation, in each convention. */
import { expect, test } from "vitest";
import type { AssistantTurn, Turn } from "../../../src/dashboard/playground/chat/conversation.ts";
import { newAnswer } from "../../../src/dashboard/playground/chat/conversation.ts";
import { chatInput, readTools } from "../../../src/dashboard/playground/chat/input.ts";

const answer = (part: Partial<AssistantTurn>): AssistantTurn => ({
  ...newAnswer(0),
  state: "done",
  ...part,
});

const call = { id: "call_1", name: "weather", arguments: '{"city":"Oxford"}' };
const picture = { url: "https://auspex.test/v1/uploads/1", name: "cat.png", preview: "data:," };

const TURNS: Turn[] = [
  { role: "user", text: "Which cat?", pictures: [picture] },
  answer({ state: "failed", problem: "no" }),
  answer({ text: "Let me see.", reasoning: "Hm.", calls: [{ ...call, result: "21" }] }),
  answer({ text: "The grin." }),
  { role: "user", text: "Thanks", pictures: [] },
];

const parameters = { type: "object", properties: {} };
const OPTIONS = {
  system: "Be brief.",
  tools: [{ name: "weather", description: "Of a city", parameters }],
  settings: { max_tokens: 5 },
};

test("a conversation is written for chat completions", () => {
  const { id, ...called } = call;
  expect(chatInput("chat", TURNS, OPTIONS)).toEqual({
    messages: [
      { role: "system", content: "Be brief." },
      {
        role: "user",
        content: [
          { type: "image_url", image_url: { url: picture.url } },
          { type: "text", text: "Which cat?" },
        ],
      },
      {
        role: "assistant",
        content: "Let me see.",
        tool_calls: [{ id, type: "function", function: called }],
      },
      { role: "tool", tool_call_id: id, content: "21" },
      { role: "assistant", content: "The grin." },
      { role: "user", content: "Thanks" },
    ],
    tools: [
      { type: "function", function: { name: "weather", description: "Of a city", parameters } },
    ],
    max_tokens: 5,
  });
});

test("a conversation is written for responses", () => {
  const { id, ...called } = call;
  const input = chatInput("responses", TURNS, { ...OPTIONS, system: " " });
  expect(input).toEqual({
    input: [
      {
        role: "user",
        content: [
          { type: "input_image", image_url: picture.url, detail: "auto" },
          { type: "input_text", text: "Which cat?" },
        ],
      },
      { role: "assistant", content: "Let me see." },
      { type: "function_call", call_id: id, ...called },
      { type: "function_call_output", call_id: id, output: "21" },
      { role: "assistant", content: "The grin." },
      { role: "user", content: "Thanks" },
    ],
    tools: [
      { type: "function", name: "weather", description: "Of a city", parameters, strict: false },
    ],
    max_output_tokens: 5,
  });
});

test("a conversation is written for messages", () => {
  const { id } = call;
  expect(chatInput("messages", TURNS, { ...OPTIONS, settings: {} })).toEqual({
    system: "Be brief.",
    messages: [
      {
        role: "user",
        content: [
          { type: "image", source: { type: "url", url: picture.url } },
          { type: "text", text: "Which cat?" },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "text", text: "Let me see." },
          { type: "tool_use", id, name: "weather", input: { city: "Oxford" } },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "21" }] },
      { role: "assistant", content: "The grin." },
      { role: "user", content: "Thanks" },
    ],
    max_tokens: 1000,
    tools: [{ name: "weather", description: "Of a city", input_schema: parameters }],
  });
});

test("a call that has no result yet is left out, because it would be refused", () => {
  const turns: Turn[] = [answer({ text: "Let me see.", calls: [call] })];
  const input = chatInput("chat", turns, { system: "", tools: [], settings: {} });
  expect(input).toEqual({ messages: [{ role: "assistant", content: "Let me see." }] });
});

test("tools are read in the form of any of the conventions", () => {
  const tool = { name: "weather", description: "Of a city", parameters };
  const { parameters: input_schema, ...rest } = tool;
  for (const written of [tool, { type: "function", function: tool }, { ...rest, input_schema }])
    expect(readTools(JSON.stringify([written]))).toEqual({ tools: [tool] });
  expect(readTools(" ")).toEqual({ tools: [] });
  expect(readTools("[{}]")).toMatchObject({ fault: expect.stringContaining("Tool 1") });
  expect(readTools('[{"name": "a b"}]')).toHaveProperty("fault");
  expect(readTools("[")).toHaveProperty("fault");
});
