import { expect, test } from "vitest";
import { CHATS } from "../../../src/domain/openai/chat.ts";
import { wholeOf } from "../../../src/domain/openai/choice-stream.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { Metrics } from "../../../src/protocol/event.ts";
import { expectChatCompletion } from "../../published/validate.ts";
import { CALLS_STREAM, HEAD, VLLM_COMPLETION, VLLM_STREAM } from "./chat-samples.ts";

const OBJECT = { ...HEAD, object: "chat.completion" };
const MESSAGE = { role: "assistant", content: "", refusal: null };
const VLLM_USAGE = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };
const NO_USAGE = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

/** A completion with one choice, and what it has beside its message. */
const answered = (message: object, choice: object = {}, more: object = {}) => ({
  ...OBJECT,
  choices: [
    {
      index: 0,
      message: { ...MESSAGE, ...message },
      logprobs: null,
      finish_reason: "stop",
      ...choice,
    },
  ],
  usage: NO_USAGE,
  ...more,
});

function completed(outputs: Json[], metrics: Metrics | null = null) {
  const completion = wholeOf(CHATS, HEAD, outputs, metrics);
  expectChatCompletion(completion);
  return completion;
}

test("a text, whole or in pieces, becomes a message, with the usage of the server or else of the prediction", () => {
  const usage = { prompt_tokens: 4, completion_tokens: 2, total_tokens: 6 };
  const expected = answered({ content: "Hello" }, {}, { usage });
  const metrics = { input_tokens: 4, output_tokens: 2 };
  expect(completed(["Hello"], metrics)).toEqual(expected);
  expect(completed(["He", "", "llo"], metrics)).toEqual(expected);
  expect(completed([VLLM_COMPLETION], metrics)).toMatchObject({ usage: VLLM_USAGE });
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

const greeting = { content: "Grüße, world" };
const custom = { id: "call_a", type: "custom", custom: { name: "sql", input: "select 1" } };
const called = { content: "Let me see.", tool_calls: [custom] };

test.each<[string, Json[], object]>([
  ["an empty output becomes an empty message", [], answered({})],
  [
    "a server's completion is filled in, and null is kept only where the convention has it",
    [VLLM_COMPLETION],
    answered(greeting, {}, { usage: VLLM_USAGE }),
  ],
  [
    "a minimal completion is filled in",
    [{ choices: [{ message: { content: "a" } }] }],
    answered({ content: "a" }),
  ],
  [
    "a server's chunks are joined, with the fields that they have beside the text",
    VLLM_STREAM,
    answered(
      greeting,
      { stop_reason: 128_009 },
      {
        usage: { ...VLLM_USAGE, prompt_tokens_details: { cached_tokens: 4 } },
        timings: { predicted_per_second: 60.5 },
      },
    ),
  ],
  [
    "a call of another kind is kept unchanged beside text",
    [{ choices: [{ message: called }] }],
    answered(called, { finish_reason: "tool_calls" }),
  ],
])("%s", (_, outputs, completion) => {
  expect(completed(outputs)).toEqual(completion);
});

test("a message with nothing but joined calls has no content", () => {
  const call = (id: string, name: string, args: string) => ({
    ...{ id, type: "function", function: { name, arguments: args } },
  });
  const tool_calls = [
    call("call_a", "weather", '{"city":"Köln"}'),
    call(`call_${HEAD.id.slice(-16)}_0_1`, "time", "{}"),
  ];
  const message = { role: "assistant", content: null, tool_calls };
  const calls = { choices: [{ index: 0, finish_reason: "tool_calls", message }] };
  expect(completed(CALLS_STREAM)).toMatchObject(calls);
  expect(completed(["", ...CALLS_STREAM])).toMatchObject(calls);
  expect(completed([calls])).toMatchObject(calls);
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
  const tool_calls = [
    { function: { name: "first", arguments: "{}" } },
    { function: { name: "second", arguments: "[]" } },
  ];
  const choices = [{ finish_reason: "tool_calls", message: { tool_calls } }];
  expect(completion).toMatchObject({ choices });
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
  const logprobs = { content: [token("a"), token("b")], refusal: [token("c")] };
  const one = { content: "ab", refusal: null, reasoning: "xy" };
  const other = { content: null, refusal: "no", reasoning_content: "hm" };
  expect(completion).toMatchObject({
    choices: [
      { index: 0, message: one, logprobs },
      { index: 1, message: other, logprobs: null },
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

test("an answer of the maximum length has the finish reason length if the container gives none", () => {
  const asked = { ...HEAD, limit: 2 };
  const cut = wholeOf(CHATS, asked, ["He", "llo"], { input_tokens: 4, output_tokens: 2 });
  expectChatCompletion(cut);
  expect(cut).toMatchObject({ choices: [{ finish_reason: "length" }] });
  expect(cut).not.toHaveProperty("limit");
});
