/** Messages from containers that speak chats: chunks, completions or plain text. */
import { describe, expect, test } from "vitest";
import { MessageStream } from "../../../src/domain/anthropic/message-stream.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import { CALLS_STREAM, VLLM_COMPLETION, VLLM_STREAM } from "../openai/chat-samples.ts";
import { callDelta, delta, headOf, ID, textBlock, told, usageOf, useBlock } from "./message-log.ts";

test("each event has its order, with a ping after the start of the first block", () => {
  const stream = new MessageStream(headOf({}));
  const raw = [
    ...VLLM_STREAM.flatMap((data) => stream.take({ event: "output", data })),
    ...stream.take({ event: "done", data: { status: "succeeded", metrics: null } }),
  ];
  expect(raw.map(({ type }) => type)).toEqual([
    ...["message_start", "content_block_start", "ping", "content_block_delta"],
    ...["content_block_delta", "content_block_stop", "message_delta", "message_stop"],
  ]);
});

test("a message begins with the first output, even if that has no text", () => {
  const stream = new MessageStream(headOf({}));
  expect(stream.take({ event: "status", data: { status: "started" } })).toEqual([]);
  const [start] = stream.take({ event: "output", data: delta({ role: "assistant" }) });
  expect(start).toMatchObject({ type: "message_start", message: { id: ID, model: "ada/chat" } });
});

const USAGE = usageOf({ input_tokens: 5, cache_read_input_tokens: 4, output_tokens: 3 });

test("a stream has its text, its stop reason and its tokens, with cached tokens apart", () => {
  expect(told(VLLM_STREAM).message).toMatchObject({
    id: ID,
    model: "ada/chat",
    content: [textBlock("Grüße, world")],
    stop_reason: "end_turn",
    usage: USAGE,
  });
});

test("a completion becomes the same message", () => {
  expect(told([VLLM_COMPLETION]).message).toMatchObject({
    content: [textBlock("Grüße, world")],
    stop_reason: "end_turn",
    usage: usageOf({ input_tokens: 9, output_tokens: 3 }),
  });
});

test("a plain text has the tokens that the prediction has counted", () => {
  const metrics = { input_tokens: 7, output_tokens: 2 };
  expect(told(["on", " and on"], { metrics }).message).toMatchObject({
    content: [textBlock("on and on")],
    stop_reason: "end_turn",
    usage: usageOf(metrics),
  });
});

test("an empty text makes no block", () => {
  expect(told([]).message).toMatchObject({ content: [], stop_reason: "end_turn" });
  expect(told([delta({ role: "assistant", content: "" }, "stop")]).message.content).toEqual([]);
});

test("reasoning is a block of its own, signed so that clients send it back", () => {
  const usage = {
    prompt_tokens: 1,
    completion_tokens: 5,
    completion_tokens_details: { reasoning_tokens: 3 },
  };
  const { message } = told([
    delta({ reasoning_content: "Let me " }),
    delta({ reasoning: "think" }),
    delta({ content: "Yes" }, "stop"),
    { choices: [], usage },
  ]);
  expect(message.content).toEqual([
    { type: "thinking", thinking: "Let me think", signature: `${ID}_0` },
    textBlock("Yes"),
  ]);
  expect(message.usage.output_tokens_details).toEqual({ thinking_tokens: 3 });
});

test("a refusal becomes text", () => {
  const { message } = told([delta({ refusal: "I will not" }, "content_filter")]);
  expect(message).toMatchObject({ content: [textBlock("I will not")], stop_reason: "refusal" });
});

describe("calls", () => {
  test("calls are told apart from a server that renames them in each piece, or gives no IDs", () => {
    const { message } = told(CALLS_STREAM);
    expect(message).toMatchObject({
      content: [
        useBlock("call_a", "weather", { city: "Köln" }),
        useBlock("toolu_0190f3a2b4c57d8e9fa0b1c2d3e4f506_1", "time", {}),
      ],
      stop_reason: "tool_use",
    });
  });

  test("calls are streamed as they come, one after the other", () => {
    const { events } = told([
      delta({ content: "See" }),
      callDelta(0, { id: "a", name: "weather" }),
      callDelta(0, { json: '{"city":' }),
      callDelta(0, { json: '"}{"}' }),
      callDelta(1, { id: "b", name: "time", json: "{" }),
      callDelta(1, { json: "}" }),
      delta({}, "tool_calls"),
    ]);
    const pieces = events.flatMap((one) =>
      one.type === "content_block_delta" && one.delta.type === "input_json_delta"
        ? [[one.index, one.delta.partial_json]]
        : [],
    );
    expect(pieces).toEqual([
      [1, '{"city":'],
      [1, '"}{"}'],
      [2, "{"],
      [2, "}"],
    ]);
  });

  test("calls whose pieces are mixed are sent one after the other", () => {
    const { message } = told([
      callDelta(0, { id: "a", name: "weather" }),
      callDelta(1, { id: "b", name: "time" }),
      callDelta(0, { json: '{"city":' }),
      callDelta(1, { json: '{"zone":"' }),
      callDelta(0, { json: '"Köln"}' }),
      callDelta(1, { json: 'CET"}' }),
      delta({ content: "There." }, "tool_calls"),
    ]);
    expect(message.content).toEqual([
      useBlock("a", "weather", { city: "Köln" }),
      useBlock("b", "time", { zone: "CET" }),
      textBlock("There."),
    ]);
  });

  test("calls that all have the index 0 are told apart by their IDs", () => {
    const { message } = told([
      callDelta(0, { id: "a", name: "weather", json: '{"n":1}' }),
      callDelta(0, { id: "b", name: "weather", json: '{"n":2}' }),
      delta({}, "stop"),
    ]);
    expect(message).toMatchObject({
      content: [useBlock("a", "weather", { n: 1 }), useBlock("b", "weather", { n: 2 })],
      stop_reason: "tool_use",
    });
  });

  test("calls can end with a line break, which makes no block", () => {
    const { message } = told([
      callDelta(0, { id: "a", name: "f", json: "{}" }),
      delta({ content: "\n" }, "stop"),
    ]);
    expect(message.content).toEqual([useBlock("a", "f", {})]);
  });

  test("calls that are cut off have no input", () => {
    const { message } = told([
      callDelta(0, { id: "a", name: "f", json: '{"city":"Kö' }),
      callDelta(1, { id: "b", name: "g" }),
      delta({}, "length"),
    ]);
    expect(message).toMatchObject({
      content: [useBlock("a", "f", {}), useBlock("b", "g", {})],
      stop_reason: "max_tokens",
    });
  });

  test("calls with too much input fail as the model's error", () => {
    const deep = `${'{"a":'.repeat(200)}1${"}".repeat(200)}`;
    const many = `{"a":[${"0,".repeat(300_000)}0]}`;
    const call = (json: string, index: number) =>
      callDelta(index, { id: `c${index}`, name: "f", json });
    expect(() => told([call(deep, 0)])).toThrow(TranslationFailed);
    expect(() => told([call(many, 0), call(many, 1)])).toThrow(TranslationFailed);
  });
});

describe("why it stops", () => {
  const stopping = (finish: string | null, more: object = {}) => ({
    choices: [{ index: 0, delta: { content: "a" }, finish_reason: finish, ...more }],
  });
  const request = { stop_sequences: ["END"], max_tokens: 4 };

  test.each([
    [stopping("stop", { stop_reason: "END" }), "stop_sequence", "END"],
    [stopping("stop", { matched_stop: "END" }), "stop_sequence", "END"],
    [stopping("stop", { stop_reason: 128_009 }), "end_turn", null],
    [stopping("stop", { stop_reason: "another" }), "end_turn", null],
    [stopping("eos_token"), "end_turn", null],
    [stopping("abort"), "max_tokens", null],
    [stopping("safety"), "refusal", null],
  ])("the output %j has the stop reason %s", (output, stop_reason, stop_sequence) => {
    expect(told([output], { request }).message).toMatchObject({ stop_reason, stop_sequence });
  });

  test("a model without a stop reason has reached its limit, or not", () => {
    const of = (output_tokens: number) =>
      told(["a"], { request, metrics: { output_tokens } }).message.stop_reason;
    expect([of(4), of(3)]).toEqual(["max_tokens", "end_turn"]);
  });
});

test("a failed or canceled prediction has no stop reason", () => {
  const stream = new MessageStream(headOf({}));
  stream.take({ event: "output", data: "on" });
  expect(stream.take({ event: "done", data: { status: "failed" } })).toEqual([]);
});

test("an output that is neither text nor of a known API is refused", () => {
  expect(() => told([{ width: 5 }])).toThrow(TranslationFailed);
});
