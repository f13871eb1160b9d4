/** Answers that the chat reads from the outputs of a prediction, in each convention. */
import { expect, test } from "vitest";
import { Reply } from "../../../src/dashboard/playground/chat/reply.ts";
import type { Json } from "../../../src/protocol/common.ts";

function replyOf(...outputs: Json[]) {
  const reply = new Reply();
  for (const output of outputs) reply.take(output);
  const { text, reasoning, calls, usage, isCut } = reply;
  return { text, reasoning, calls, usage, isCut };
}

const CALL = { id: "call_1", name: "weather", arguments: '{"city":"Oxford"}' };
const WHOLE = {
  text: "Off with his head",
  reasoning: "Hm.",
  calls: [CALL],
  usage: { input: 3, output: 4 },
  isCut: true,
};

const chunk = (delta: Json, rest: object = {}): Json => ({
  choices: [{ index: 0, delta, ...rest }],
});
const piece = (part: Json): Json => chunk({ tool_calls: [part] });

test("chunks of a chat become an answer", () => {
  expect(
    replyOf(
      chunk({ role: "assistant", content: "" }),
      chunk({ reasoning_content: "Hm." }),
      chunk({ content: "Off with" }),
      chunk({ content: " his head" }),
      piece({ index: 0, id: "call_1", function: { name: "weather", arguments: "" } }),
      piece({ index: 0, function: { arguments: '{"city":' } }),
      piece({ index: 0, function: { arguments: '"Oxford"}' } }),
      { choices: [{ index: 1, delta: { content: "another choice" } }] },
      chunk({}, { finish_reason: "length" }),
      { choices: [], usage: { prompt_tokens: 3, completion_tokens: 4 } },
    ),
  ).toEqual(WHOLE);
});

test("a whole completion becomes an answer", () => {
  const { id, ...called } = CALL;
  const message = {
    reasoning: "Hm.",
    content: "Off with his head",
    tool_calls: [{ id, function: called }],
  };
  const usage = { prompt_tokens: 3, completion_tokens: 4 };
  expect(replyOf({ choices: [{ message, finish_reason: "length" }], usage })).toEqual(WHOLE);
});

const ITEMS: Json[] = [
  { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
  { type: "message", content: [{ type: "output_text", text: "Off with his head" }] },
  { type: "function_call", call_id: "call_1", name: "weather", arguments: CALL.arguments },
];
const RESPONSE: Json = {
  object: "response",
  output: ITEMS,
  usage: { input_tokens: 3, output_tokens: 4 },
  incomplete_details: { reason: "max_output_tokens" },
};

test("events of a response, and a whole one, become an answer", () => {
  expect(
    replyOf(
      { type: "response.created", response: { object: "response", output: [] } },
      { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "Hm." },
      { type: "response.output_text.delta", output_index: 1, delta: "Off with" },
      { type: "response.output_text.delta", output_index: 1, delta: " his head" },
      { type: "response.output_text.done", output_index: 1, text: "Off with his head" },
      {
        type: "response.output_item.added",
        output_index: 2,
        item: { type: "function_call", call_id: "call_1", name: "weather", arguments: "" },
      },
      { type: "response.function_call_arguments.delta", output_index: 2, delta: CALL.arguments },
      { type: "response.incomplete", response: RESPONSE },
    ),
  ).toEqual(WHOLE);
  expect(replyOf(RESPONSE)).toEqual(WHOLE);
});

test("events of a message, and a whole one, become an answer", () => {
  expect(
    replyOf(
      { type: "message_start", message: { content: [], usage: { input_tokens: 3 } } },
      { type: "content_block_start", index: 0, content_block: { type: "thinking", thinking: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "thinking_delta", thinking: "Hm." } },
      { type: "content_block_start", index: 1, content_block: { type: "text", text: "" } },
      {
        type: "content_block_delta",
        index: 1,
        delta: { type: "text_delta", text: "Off with his head" },
      },
      {
        type: "content_block_start",
        index: 2,
        content_block: { type: "tool_use", id: "call_1", name: "weather", input: {} },
      },
      {
        type: "content_block_delta",
        index: 2,
        delta: { type: "input_json_delta", partial_json: CALL.arguments },
      },
      {
        type: "message_delta",
        delta: { stop_reason: "max_tokens" },
        usage: { output_tokens: 4 },
      },
      { type: "message_stop" },
    ),
  ).toEqual(WHOLE);
  expect(
    replyOf({
      type: "message",
      content: [
        { type: "thinking", thinking: "Hm." },
        { type: "text", text: "Off with his head" },
        { type: "tool_use", id: "call_1", name: "weather", input: { city: "Oxford" } },
      ],
      stop_reason: "max_tokens",
      usage: { input_tokens: 3, output_tokens: 4 },
    }),
  ).toEqual(WHOLE);
});

test("text of a Cog model, in pieces or as a list, becomes an answer, and any other output is shown as JSON", () => {
  expect(replyOf("Off ", ["with", null, [" his head"]]).text).toBe("Off with his head");
  expect(replyOf({ answer: 42 }, 1, true).text).toBe('{"answer":42}1true');
});

test("an answer has a limited number of tool calls", () => {
  const reply = new Reply();
  const tool_calls = Array.from({ length: 1_000 }, (_, index) => ({
    ...{ index, id: `call_${index}`, function: { name: "sum", arguments: "{}" } },
  }));
  reply.take({ choices: [{ index: 0, delta: { tool_calls } }] });
  expect(reply.calls).toHaveLength(128);
  expect(reply.calls.at(-1)).toMatchObject({ id: "call_127", arguments: "{}" });
});
