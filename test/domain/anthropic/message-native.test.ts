/** Messages from containers with the messages API, in the style of their servers. Not recordings. */
import { describe, expect, test } from "vitest";
import { MessageAssembler } from "../../../src/domain/anthropic/message-native.ts";
import { messageOf } from "../../../src/domain/anthropic/message-stream.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { checkedMessage } from "../../published/anthropic.ts";
import { headOf, ID, textBlock, told, usageOf, useBlock } from "./message-log.ts";

const start = (usage: Json): Json => ({
  type: "message_start",
  message: { id: "theirs", type: "message", role: "assistant", content: [], model: "m", usage },
});
const blockStart = (index: number, content_block: Json): Json => ({
  type: "content_block_start",
  index,
  content_block,
});
const blockDelta = (index: number, delta: Json): Json => ({
  type: "content_block_delta",
  index,
  delta,
});
const blockStop = (index: number): Json => ({ type: "content_block_stop", index });
const text = (index: number, text: string) => blockDelta(index, { type: "text_delta", text });
const end = (delta: Json, usage: Json): Json[] => [
  { type: "message_delta", delta, usage },
  { type: "message_stop" },
];

/** Outputs as llama.cpp sends them: reasoning without a signature, and a call. */
const LLAMA_CPP: Json[] = [
  start({ input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 0 }),
  blockStart(0, { type: "thinking", thinking: "" }),
  blockDelta(0, { type: "thinking_delta", thinking: "Hm" }),
  blockStop(0),
  blockStart(1, { type: "text", text: "" }),
  text(1, "Let me "),
  text(1, "see."),
  blockStop(1),
  blockStart(2, { type: "tool_use", id: "call_1", name: "weather", input: {} }),
  blockDelta(2, { type: "input_json_delta", partial_json: '{"city":' }),
  blockDelta(2, { type: "input_json_delta", partial_json: '"Köln"}' }),
  blockStop(2),
  ...end({ stop_reason: "tool_use", stop_sequence: null }, { output_tokens: 7 }),
];

const EXPECTED = {
  content: [
    { type: "thinking", thinking: "Hm", signature: `${ID}_0` },
    textBlock("Let me see."),
    useBlock("call_1", "weather", { city: "Köln" }),
  ],
  stop_reason: "tool_use",
  usage: usageOf({ input_tokens: 9, cache_read_input_tokens: 4, output_tokens: 7 }),
};

test("a server's events pass with our ID and the model's name", () => {
  const { message } = told(LLAMA_CPP);
  expect(message).toMatchObject({ id: ID, model: "ada/chat", ...EXPECTED });
});

test("tokens that a server has counted are in the first event", () => {
  const [first] = told(LLAMA_CPP).events;
  expect(first).toMatchObject({
    message: { usage: { input_tokens: 9, cache_read_input_tokens: 4 } },
  });
});

test("a runner assembles the same into one message", () => {
  const whole = new MessageAssembler(ID);
  expect(whole.value).toBeUndefined();
  for (const event of LLAMA_CPP) whole.take(event);
  expect(whole.value).toMatchObject({ id: "theirs", role: "assistant", model: "m" });
  const message = messageOf(headOf({}), [JSON.parse(JSON.stringify(whole.value))], null);
  expect(checkedMessage(message)).toEqual(told(LLAMA_CPP).message);
});

test("a whole message passes with our ID and the model's name", () => {
  const { message } = told([
    {
      id: "theirs",
      type: "message",
      role: "assistant",
      model: "m",
      content: [
        { type: "thinking", thinking: "Hm", signature: "signed" },
        { type: "text", text: "Done END" },
        { type: "tool_use", id: "t", name: "f", input: { a: 1 } },
      ],
      stop_reason: "stop_sequence",
      stop_sequence: "END",
      usage: { input_tokens: 3, output_tokens: 2 },
    },
  ]);
  expect(message).toMatchObject({
    content: [
      { type: "thinking", thinking: "Hm", signature: "signed" },
      textBlock("Done END"),
      useBlock("t", "f", { a: 1 }),
    ],
    stop_reason: "stop_sequence",
    stop_sequence: "END",
    usage: usageOf({ input_tokens: 3, output_tokens: 2 }),
  });
});

test("a server's pings are dropped", () => {
  const { events } = told([
    { type: "ping" },
    ...LLAMA_CPP.flatMap((one) => [one, { type: "ping" }]),
  ]);
  expect(events).toEqual(told(LLAMA_CPP).events);
});

describe("a server that leaves out", () => {
  test("blocks without a beginning and an end get both", () => {
    const { message } = told([
      start({ input_tokens: 1, output_tokens: 0 }),
      text(0, "a"),
      blockDelta(1, { type: "thinking_delta", thinking: "b" }),
      blockDelta(2, { type: "input_json_delta", partial_json: "{}" }),
      ...end({ stop_reason: "end_turn" }, { output_tokens: 2 }),
    ]);
    expect(message.content).toMatchObject([textBlock("a"), { type: "thinking", thinking: "b" }]);
  });

  test("content that is only in the beginning of a block gets its pieces", () => {
    const { message } = told([
      start({ input_tokens: 1, output_tokens: 0 }),
      blockStart(0, { type: "text", text: "All" }),
      text(0, " of it"),
      blockStop(0),
      blockStart(1, { type: "tool_use", id: "t", name: "f", input: { a: 1 } }),
      blockStop(1),
      ...end({ stop_reason: "tool_use" }, { output_tokens: 2 }),
    ]);
    expect(message.content).toEqual([textBlock("All of it"), useBlock("t", "f", { a: 1 })]);
  });

  test("a message without a stop reason and usage gets both", () => {
    const metrics = { input_tokens: 5, output_tokens: 100 };
    const outputs = [
      { type: "message_start", message: {} },
      text(0, "a"),
      { type: "message_stop" },
    ];
    expect(told(outputs, { metrics }).message).toMatchObject({
      stop_reason: "max_tokens",
      usage: usageOf(metrics),
    });
    expect(told([...outputs, ...end({ stop_reason: "abort" }, null)]).message.stop_reason).toBe(
      "end_turn",
    );
  });
});

test("an unknown block is passed on", () => {
  const redacted = { type: "redacted_thinking", data: "x" };
  const { message } = told([
    start({ input_tokens: 1, output_tokens: 0 }),
    blockStart(0, redacted),
    blockStop(0),
    blockStart(1, { text: "of no type" }),
    ...end({ stop_reason: "end_turn" }, { output_tokens: 2 }),
  ]);
  expect(message.content).toEqual([redacted]);
});
