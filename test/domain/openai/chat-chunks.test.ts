import { expect, test } from "vitest";
import { chunksOf } from "../../../src/domain/openai/chat-chunks.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { CALLS_STREAM, VLLM_COMPLETION, VLLM_STREAM } from "./chat-samples.ts";

test("a text becomes one chunk", () => {
  expect(chunksOf("ab")).toEqual([{ choices: [{ index: 0, delta: { content: "ab" } }] }]);
});

test.each([...VLLM_STREAM, ...CALLS_STREAM])("a chunk stays as it came: %j", (chunk) => {
  const [first, ...rest] = chunksOf(chunk);
  expect(first).toBe(chunk);
  expect(rest).toEqual([]);
});

test("a chunk that leaves out what can only be one thing is filled in", () => {
  expect(
    chunksOf({ choices: [{ delta: { tool_calls: [{ id: "a" }, { id: "b" }] }, x: 1 }], y: 2 }),
  ).toEqual([
    {
      choices: [
        {
          index: 0,
          delta: {
            tool_calls: [{ id: "a" }, { id: "b" }],
          },
          x: 1,
        },
      ],
      y: 2,
    },
  ]);
});

test("a completion becomes a chunk for each choice, and one for its usage", () => {
  const call = { id: "call_a", type: "function", function: { name: "f", arguments: "{}" } };
  const called = { role: "assistant", content: null };
  const answered = { content: "ab", refusal: "no", reasoning_content: "hm" };
  const choices: Json[] = [
    {
      index: 1,
      finish_reason: "tool_calls",
      logprobs: { content: [] },
      message: { ...called, tool_calls: [call, call] },
    },
    { index: 0, finish_reason: "stop", message: answered },
  ];
  const output: Json = { timings: { ms: 3 }, choices, usage: { prompt_tokens: 1 } };
  expect(chunksOf(output)).toEqual([
    {
      timings: { ms: 3 },
      choices: [
        {
          index: 1,
          finish_reason: "tool_calls",
          logprobs: { content: [] },
          delta: {
            ...called,
            tool_calls: [call, call],
          },
        },
      ],
    },
    {
      timings: { ms: 3 },
      choices: [{ index: 0, finish_reason: "stop", delta: answered }],
    },
    { timings: { ms: 3 }, choices: [], usage: { prompt_tokens: 1 } },
  ]);
});

test("a completion stays as it came", () => {
  const before = structuredClone(VLLM_COMPLETION);
  chunksOf(VLLM_COMPLETION);
  expect(VLLM_COMPLETION).toEqual(before);
});

test.each<[Json, RegExp]>([
  [3, /a number/],
  [true, /a boolean/],
  [{ text: "a" }, /an object without choices/],
  [{ choices: "a" }, /an object without choices/],
  [{ choices: [{ index: 0, delta: { content: 3 } }] }, /chunk: .*choices\[0\]\.delta\.content/s],
  [{ choices: [{ index: -1, delta: {} }] }, /choices\[0\]\.index/],
  [{ choices: [{ index: 0.5, delta: {} }] }, /choices\[0\]\.index/],
  [{ choices: [{ delta: { tool_calls: [{ function: { arguments: {} } }] } }] }, /arguments/],
  [{ choices: [{ index: 0, delta: { tool_calls: {} } }] }, /tool_calls/],
  [{ choices: [{ index: 0, delta: { tool_calls: [3] } }] }, /tool_calls/],
  [{ choices: [{ index: 0, delta: { tool_calls: [{ index: 0, id: 3 }] } }] }, /id/],
  [{ choices: [{ index: 0, delta: { reasoning: 3 } }] }, /reasoning/],
  [{ choices: [{ index: 0, finish_reason: 3, delta: {} }] }, /finish_reason/],
  [{ choices: [null] }, /choices\[0\]/],
  [{ choices: [], usage: { prompt_tokens: "3" } }, /usage\.prompt_tokens/],
  [{ choices: [{ message: { content: [] } }] }, /completion: .*choices\[0\]\.message\.content/s],
  [{ choices: [{ message: { content: "a" } }, { text: "b" }] }, /choices\[1\]\.message/],
])("an output that is no answer to a chat is refused with a message: %j", (output, message) => {
  expect(() => chunksOf(output)).toThrow(TranslationFailed);
  expect(() => chunksOf(output)).toThrow(message);
});

test("null counts as absent for a choice's index and delta, and for counts", () => {
  const usage = { prompt_tokens: 3, completion_tokens: null, total_tokens: null };
  const choices = [{ index: null, delta: null, finish_reason: "stop" }];
  expect(chunksOf({ choices, usage })).toEqual([
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: { prompt_tokens: 3 } },
  ]);
});

test("a list becomes the chunks of its items in turn", () => {
  const told = chunksOf(["on", [" and", { choices: [{ index: 0, delta: { content: " on" } }] }]]);
  expect(told.map(({ choices }) => choices[0]?.delta.content)).toEqual(["on", " and", " on"]);
  expect(chunksOf([])).toEqual([]);
  expect(chunksOf(null)).toEqual([]);
});

test("a list may be nested to any depth", () => {
  let deep: Json = "on";
  for (let level = 0; level < 100_000; level++) deep = [deep];
  expect(chunksOf(deep)).toHaveLength(1);
});
