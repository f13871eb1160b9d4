import { describe, expect, test } from "vitest";
import { messageOf } from "../../../src/domain/anthropic/message-stream.ts";
import { CHATS } from "../../../src/domain/openai/chat.ts";
import { chunksOf } from "../../../src/domain/openai/chat-chunks.ts";
import { wholeOf } from "../../../src/domain/openai/choice-stream.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { CALLS_STREAM, VLLM_COMPLETION, VLLM_STREAM } from "./chat-samples.ts";
import { delta, logOf, tell } from "./response-log.ts";

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
    { choices: [{ index: 0, delta: { tool_calls: [{ id: "a" }, { id: "b" }] }, x: 1 }], y: 2 },
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
          delta: { ...called, tool_calls: [call, call] },
        },
      ],
    },
    { timings: { ms: 3 }, choices: [{ index: 0, finish_reason: "stop", delta: answered }] },
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

type Piece = { index?: number | null; id?: string; name?: string; args?: string };

/** Returns a chunk for each entry; pieces that arrive together are one list. */
const chunks = (deltas: (Piece | Piece[])[]): Json[] =>
  deltas.map((pieces) =>
    delta({
      tool_calls: [pieces].flat().map(({ index, id, name, args }) => ({
        ...(index !== undefined && { index }),
        ...(id !== undefined && { id, type: "function" }),
        function: {
          ...(name !== undefined && { name }),
          ...(args !== undefined && { arguments: args }),
        },
      })),
    }),
  );

const ROME = { name: "weather", args: { city: "Rome" } };
const PARIS = { name: "weather", args: { city: "Paris" } };
const TIME = { name: "time", args: { zone: "UTC" } };

const begin = (more: Piece) => ({ name: "weather", args: "", ...more });
const rome = (more: Piece = {}) => [
  { ...more, args: '{"city":' },
  { ...more, args: '"Rome"}' },
];
const whole = ({ name, args }: typeof ROME | typeof TIME, more: Piece = {}) => ({
  ...more,
  name,
  args: JSON.stringify(args),
});

const SERVERS: [string, (Piece | Piece[])[], (typeof ROME | typeof TIME)[]][] = [
  [
    "the index 0 for all, and ids",
    [begin({ index: 0, id: "a" }), ...rome({ index: 0 }), whole(PARIS, { index: 0, id: "b" })],
    [ROME, PARIS],
  ],
  [
    "the index 0 for all, in pieces that alternate",
    [
      begin({ index: 0, id: "a" }),
      { index: 0, id: "b", name: "time", args: "" },
      { index: 0, id: "a", args: '{"city":' },
      { index: 0, id: "b", args: '{"zone":"UTC"}' },
      { index: 0, id: "a", args: '"Rome"}' },
    ],
    [ROME, TIME],
  ],
  [
    "the index 0 for all, without ids",
    [begin({ index: 0 }), ...rome({ index: 0 }), whole(TIME, { index: 0 })],
    [ROME, TIME],
  ],
  [
    "the index 0 for all, at once",
    [[whole(ROME, { index: 0, id: "a" }), whole(PARIS, { index: 0, id: "b" })]],
    [ROME, PARIS],
  ],
  ["no index", [begin({ id: "a" }), ...rome(), whole(PARIS, { id: "b" })], [ROME, PARIS]],
  [
    "null for an index",
    [begin({ index: null, id: "a" }), ...rome({ index: null }), whole(TIME, { index: null })],
    [ROME, TIME],
  ],
  ["neither index nor ids, at once", [[whole(ROME), whole(ROME), whole(TIME)]], [ROME, ROME, TIME]],
  [
    "neither index nor ids, one after the other",
    [whole(ROME), whole(PARIS), whole(TIME)],
    [ROME, PARIS, TIME],
  ],
  [
    "a new id for each piece",
    [begin({ index: 0, id: "a" }), ...rome().map((one, n) => ({ ...one, index: 0, id: `a${n}` }))],
    [ROME],
  ],
  [
    "a new id for each piece, and its name",
    [
      begin({ index: 0, id: "a" }),
      ...rome({ name: "weather" }).map((one, n) => ({ ...one, index: 0, id: `a${n}` })),
      { index: 1, id: "b", name: "time", args: '{"zone":' },
      { index: 1, id: "c", name: "time", args: '"UTC"}' },
    ],
    [ROME, TIME],
  ],
  [
    "its id and name in each piece, and an empty one at the end",
    [
      begin({ index: 0, id: "a" }),
      ...rome({ index: 0, id: "a", name: "weather" }),
      begin({ index: 0, id: "a" }),
    ],
    [ROME],
  ],
  [
    "the same id for different calls",
    [whole(ROME, { index: 0, id: "call_0" }), whole(TIME, { index: 1, id: "call_0" })],
    [ROME, TIME],
  ],
  [
    "a name that comes after the id",
    [{ index: 0, id: "a" }, begin({ index: 0 }), ...rome({ index: 0 })],
    [ROME],
  ],
];

describe.each(SERVERS)("calls with %s", (_, deltas, calls) => {
  const outputs = chunks(deltas);

  test("calls in a chat are told apart", () => {
    const head = { id: "chatcmpl-1", created: 1, model: "ada/chat" };
    expect(wholeOf(CHATS, head, outputs, null)).toMatchObject({
      choices: [
        {
          message: {
            tool_calls: calls.map(({ name, args }) => ({
              function: { name, arguments: JSON.stringify(args) },
            })),
          },
        },
      ],
    });
  });

  test("calls in a response are told apart, and have their own IDs", () => {
    const { output } = tell(logOf(outputs)).resource;
    expect(output).toMatchObject(
      calls.map(({ name, args }) => ({
        type: "function_call",
        name,
        arguments: JSON.stringify(args),
      })),
    );
    expect(new Set(output.map(({ call_id }) => call_id)).size).toBe(calls.length);
  });

  test("calls in a message are told apart, and have their own IDs", () => {
    const { content } = messageOf({ id: "msg_1", request: { model: "ada/chat" } }, outputs, null);
    expect(content).toMatchObject(
      calls.map(({ name, args: input }) => ({ type: "tool_use", name, input })),
    );
    const ids = [content].flat().map((block) => Object(block).id);
    expect(new Set(ids).size).toBe(calls.length);
  });
});
