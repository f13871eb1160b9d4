import { expect, test } from "vitest";
import { CHATS } from "../../../src/domain/openai/chat.ts";
import { wholeOf } from "../../../src/domain/openai/choice-stream.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics } from "../../../src/protocol/event.ts";
import { expectChatCompletion } from "../../published/validate.ts";
import { CALLS_STREAM, HEAD, VLLM_COMPLETION, VLLM_STREAM } from "./chat-samples.ts";

const OBJECT = { ...HEAD, object: "chat.completion" };
const MESSAGE = { role: "assistant", content: "", refusal: null };
const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

function completed(outputs: Json[], metrics: Metrics | null = null) {
  const completion = wholeOf(CHATS, HEAD, outputs, metrics);
  expectChatCompletion(completion);
  return completion;
}

test("a text, whole or in pieces, becomes a message with the usage of the prediction", () => {
  const expected = {
    ...OBJECT,
    choices: [
      {
        index: 0,
        message: { ...MESSAGE, content: "Hello" },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 },
  };
  const metrics = { input_tokens: 4, output_tokens: 2 };
  expect(completed(["Hello"], metrics)).toEqual(expected);
  expect(completed(["He", "", "llo"], metrics)).toEqual(expected);
});

test("the pieces of a function_call are joined", () => {
  const pieces: Json[] = [
    { name: "f", arguments: "" },
    { arguments: '{"a":' },
    { arguments: "1}" },
  ];
  const completion = completed(
    pieces.map((function_call) => ({ choices: [{ index: 0, delta: { function_call } }] })),
  );
  const message = { function_call: { name: "f", arguments: '{"a":1}' } };
  expect(completion).toMatchObject({ choices: [{ message }] });
});

test("an empty output becomes an empty message", () => {
  expect(completed([])).toEqual({
    ...OBJECT,
    choices: [{ index: 0, message: MESSAGE, logprobs: null, finish_reason: "stop" }],
    usage: NO_USAGE,
  });
});

test("a server's completion is filled in, and null is kept only where the convention has it", () => {
  expect(completed([VLLM_COMPLETION], { input_tokens: 1, output_tokens: 1 })).toEqual({
    ...OBJECT,
    choices: [
      {
        index: 0,
        message: { role: "assistant", content: "Grüße, world", refusal: null },
        logprobs: null,
        finish_reason: "stop",
      },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
  });
});

test("a minimal completion is filled in", () => {
  expect(completed([{ choices: [{ message: { content: "a" } }] }])).toEqual({
    ...OBJECT,
    choices: [
      { index: 0, message: { ...MESSAGE, content: "a" }, logprobs: null, finish_reason: "stop" },
    ],
    usage: NO_USAGE,
  });
});

test("a server's chunks are joined, with the fields that they have beside the text", () => {
  expect(completed(VLLM_STREAM)).toEqual({
    ...OBJECT,
    choices: [
      {
        index: 0,
        message: { ...MESSAGE, content: "Grüße, world" },
        logprobs: null,
        finish_reason: "stop",
        stop_reason: 128_009,
      },
    ],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
    },
    timings: { predicted_per_second: 60.5 },
  });
});

test("a message with nothing but joined calls has no content", () => {
  const called = {
    choices: [
      {
        index: 0,
        finish_reason: "tool_calls",
        message: {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "call_a",
              type: "function",
              function: { name: "weather", arguments: '{"city":"Köln"}' },
            },
            {
              id: `call_${HEAD.id.slice(-16)}_0_1`,
              type: "function",
              function: { name: "time", arguments: "{}" },
            },
          ],
        },
      },
    ],
  };
  expect(completed(CALLS_STREAM)).toMatchObject(called);
  expect(completed(["", ...CALLS_STREAM])).toMatchObject(called);
  expect(completed([called])).toMatchObject(called);
});

test("calls are ordered by index, and a name that comes late is kept", () => {
  const piece = (index: number, called: { [field: string]: Json }) => ({
    choices: [{ delta: { tool_calls: [{ index, function: called }] } }],
  });
  const completion = completed([
    piece(1, { name: "second", arguments: "[" }),
    piece(0, { arguments: "{" }),
    piece(1, { arguments: "]" }),
    piece(0, { name: "first", arguments: "}" }),
  ]);
  expect(completion).toMatchObject({
    choices: [
      {
        finish_reason: "tool_calls",
        message: {
          tool_calls: [
            { function: { name: "first", arguments: "{}" } },
            { function: { name: "second", arguments: "[]" } },
          ],
        },
      },
    ],
  });
});

test("a call of another kind is kept unchanged beside text", () => {
  const call = { id: "call_a", type: "custom", custom: { name: "sql", input: "select 1" } };
  const message = { content: "Let me see.", tool_calls: [call] };
  expect(completed([{ choices: [{ message }] }])).toEqual({
    ...OBJECT,
    choices: [
      {
        index: 0,
        message: { ...MESSAGE, ...message },
        logprobs: null,
        finish_reason: "tool_calls",
      },
    ],
    usage: NO_USAGE,
  });
});

test("the last value of a field that is not text counts", () => {
  const piece = (phase: string) => ({ choices: [{ delta: { content: "a", phase } }] });
  expect(completed([piece("first"), piece("last")])).toMatchObject({
    choices: [{ message: { content: "aa", phase: "last" } }],
  });
});

test("reasoning, refusals and logprobs are joined for each choice", () => {
  const token = (text: string) => ({ token: text, logprob: -1, bytes: null, top_logprobs: [] });
  const piece = (index: number, delta: Json, content?: string) => ({
    choices: [
      { index, delta, ...(content !== undefined && { logprobs: { content: [token(content)] } }) },
    ],
  });
  const completion = completed([
    piece(1, { reasoning_content: "h", refusal: "n" }),
    piece(0, { reasoning: "x", content: "a" }, "a"),
    piece(1, { reasoning_content: "m", refusal: "o" }),
    piece(0, { reasoning: "y", content: "b" }, "b"),
    { choices: [{ index: 0, delta: {}, logprobs: { content: null, refusal: [token("c")] } }] },
  ]);
  expect(completion).toMatchObject({
    choices: [
      {
        index: 0,
        message: { content: "ab", refusal: null, reasoning: "xy" },
        logprobs: { content: [token("a"), token("b")], refusal: [token("c")] },
      },
      {
        index: 1,
        message: { content: null, refusal: "no", reasoning_content: "hm" },
        logprobs: null,
      },
    ],
  });
});

test("joining does not change the outputs", () => {
  const logprobs = { content: [{ token: "a", logprob: -1, bytes: null, top_logprobs: [] }] };
  const outputs = [...CALLS_STREAM, { choices: [{ index: 0, delta: { content: "a" }, logprobs }] }];
  const before = structuredClone(outputs);
  const first = completed([...outputs, ...outputs]);
  expect(outputs).toEqual(before);
  expect(completed([...outputs, ...outputs])).toEqual(first);
});

test("an output that is no answer to a chat is refused", () => {
  expect(() => completed([{ embedding: [1] }])).toThrow(TranslationFailed);
});

test("an answer of the maximum length has the finish reason length if the container gives none", () => {
  const asked = { ...HEAD, limit: 2 };
  const cut = wholeOf(CHATS, asked, ["He", "llo"], { input_tokens: 4, output_tokens: 2 });
  expectChatCompletion(cut);
  expect(cut).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(cut).not.toHaveProperty("limit");
});
