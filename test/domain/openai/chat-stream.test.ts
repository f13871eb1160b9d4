import { ChatCompletionStream } from "openai/lib/ChatCompletionStream";
import { expect, test } from "vitest";
import { CHATS } from "../../../src/domain/openai/chat.ts";
import { ChoiceStream } from "../../../src/domain/openai/choice-stream.ts";
import { TranslationFailed } from "../../../src/domain/openai/translation.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { expectChatChunk } from "../../published/validate.ts";
import { CALLS_STREAM, HEAD, VLLM_COMPLETION, VLLM_STREAM } from "./chat-samples.ts";

const OBJECT = { ...HEAD, object: "chat.completion.chunk" };

interface Options {
  includeUsage?: boolean;
  limit?: number;
  done?: Json;
}

const SUCCEEDED = { status: "succeeded", metrics: null };

/** Returns each chunk of the whole stream, checked against the published description. */
function streamed(
  outputs: Json[],
  { includeUsage = false, limit, done = SUCCEEDED }: Options = {},
) {
  const stream = new ChoiceStream(CHATS, { ...HEAD, includeUsage, limit });
  const chunks = [
    ...stream.take({ event: "status", data: { status: "started", attempt: 1 } }),
    ...stream.take({ event: "setup", data: { phase: "ready" } }),
    ...outputs.flatMap((data) => stream.take({ event: "output", data })),
    ...stream.take({ event: "logs", data: "text" }),
    ...stream.take({ event: "metrics", data: { input_tokens: 99 } }),
    ...stream.take({ event: "done", data: done }),
  ];
  for (const chunk of chunks) {
    expectChatChunk(chunk);
    expect(chunk).toMatchObject(OBJECT);
  }
  return chunks;
}

/** Returns the completion that the official client assembles from a stream. */
const received = (chunks: object[]) =>
  ChatCompletionStream.fromReadableStream(
    new Blob(chunks.map((chunk) => `${JSON.stringify(chunk)}\n`)).stream(),
  ).finalChatCompletion();

test("a text becomes chunks: the role first, a finish reason last", () => {
  expect(streamed(["He", "llo"])).toEqual([
    {
      ...OBJECT,
      choices: [{ index: 0, delta: { role: "assistant", content: "He" }, finish_reason: null }],
    },
    { ...OBJECT, choices: [{ index: 0, delta: { content: "llo" }, finish_reason: null }] },
    { ...OBJECT, choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ]);
});

test("an empty output becomes an empty message", async () => {
  const chunks = streamed([]);
  expect(chunks).toEqual([
    {
      ...OBJECT,
      choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: "stop" }],
    },
  ]);
  expect((await received(chunks)).choices[0]?.message.content ?? "").toBe("");
});

test("a server's chunks pass with their own fields, except its names and its usage", () => {
  const chunks = streamed(VLLM_STREAM);
  const field = { logprobs: null };
  expect(chunks.map(({ choices }) => choices)).toEqual([
    [{ ...field, index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
    [{ ...field, index: 0, delta: { content: "Grüße, " }, finish_reason: null }],
    [{ ...field, index: 0, delta: { content: "world" }, finish_reason: null }],
    [{ ...field, index: 0, delta: { content: "" }, finish_reason: "stop", stop_reason: 128_009 }],
  ]);
  for (const chunk of chunks) {
    expect(chunk).not.toHaveProperty("usage");
    expect(chunk).not.toHaveProperty("system_fingerprint");
  }
});

test("a fingerprint stays in the chunks", () => {
  const [chunk] = streamed([{ choices: [{ delta: { content: "a" } }], system_fingerprint: "b1" }]);
  expect(chunk).toMatchObject({ system_fingerprint: "b1" });
});

test("usage that was requested comes last, with all fields beside it", () => {
  const chunks = streamed(VLLM_STREAM, { includeUsage: true });
  expect(chunks.slice(0, -1).map(({ usage }) => usage)).toEqual([null, null, null, null]);
  expect(chunks.at(-1)).toEqual({
    ...OBJECT,
    choices: [],
    usage: {
      prompt_tokens: 9,
      completion_tokens: 3,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
    },
    timings: { predicted_per_second: 60.5 },
  });
});

test("usage that comes with each piece counts once, with its last value", () => {
  const piece = (content: string, completion_tokens: number) => ({
    choices: [{ index: 0, delta: { content } }],
    usage: { prompt_tokens: 5, completion_tokens },
  });
  expect(streamed([piece("a", 1), piece("b", 2)]).some((chunk) => "usage" in chunk)).toBe(false);
  const chunks = streamed([piece("a", 1), piece("b", 2)], { includeUsage: true });
  expect(chunks.map(({ usage }) => usage)).toEqual([
    null,
    null,
    null,
    { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
  ]);
});

test.each([
  [{ input_tokens: 4, output_tokens: 2, tokens_estimated: 1 }, [4, 2, 6]],
  [{ output_tokens: 2 }, [0, 2, 2]],
  [null, [0, 0, 0]],
])("the usage of a model that reports none is the prediction's: %j", (metrics, counts) => {
  const chunks = streamed(["a"], { includeUsage: true, done: { status: "succeeded", metrics } });
  const [prompt_tokens, completion_tokens, total_tokens] = counts;
  expect(chunks.at(-1)).toEqual({
    ...OBJECT,
    choices: [],
    usage: { prompt_tokens, completion_tokens, total_tokens },
  });
});

test.each(["failed", "canceled"])("a prediction that has %s has no closing chunk", (status) => {
  const chunks = streamed(["a"], { includeUsage: true, done: { status, metrics: null } });
  expect(chunks).toHaveLength(1);
});

test("calls have an ID, a type and a name, each exactly once", async () => {
  const chunks = streamed(CALLS_STREAM);
  const id = `call_${HEAD.id.slice(-16)}_0_1`;
  expect(chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])).toEqual([
    { index: 0, id: "call_a", type: "function", function: { name: "weather", arguments: "" } },
    { index: 0, function: { arguments: '{"city":' } },
    { index: 0, function: { arguments: '"Köln"}' } },
    { index: 0, function: { arguments: "" } },
    { index: 1, id, type: "function", function: { name: "time", arguments: "{}" } },
  ]);
  const { message, finish_reason } = (await received(chunks)).choices[0] ?? {};
  expect(finish_reason).toBe("tool_calls");
  expect(message?.content).toBeNull();
  expect(message?.tool_calls).toMatchObject([
    { id: "call_a", function: { name: "weather", arguments: '{"city":"Köln"}' } },
    { id, function: { name: "time", arguments: "{}" } },
  ]);
});

test("a name of a call that comes late is kept", () => {
  const chunks = streamed([
    { choices: [{ delta: { tool_calls: [{ index: 0, id: "call_a" }] } }] },
    { choices: [{ delta: { tool_calls: [{ index: 0, function: { name: "f" } }] } }] },
  ]);
  expect(chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? [])).toEqual([
    { index: 0, id: "call_a", type: "function", function: { name: "", arguments: "" } },
    { index: 0, function: { name: "f", arguments: "" } },
  ]);
  expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: "assistant", content: null });
  expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("tool_calls");
});

test("reasoning, refusals and logprobs pass, logprobs with all their keys", () => {
  const token = { token: "a", logprob: -0.5 };
  const [thought, refusal] = streamed([
    { choices: [{ delta: { reasoning_content: "hm", reasoning: "hm" } }] },
    {
      choices: [
        { delta: { refusal: "no" }, logprobs: { content: [{ ...token, top_logprobs: [token] }] } },
      ],
    },
  ]);
  expect(thought?.choices[0]?.delta).toEqual({
    role: "assistant",
    content: "",
    reasoning_content: "hm",
    reasoning: "hm",
  });
  expect(refusal?.choices[0]).toEqual({
    index: 0,
    delta: { refusal: "no" },
    logprobs: {
      content: [{ ...token, bytes: null, top_logprobs: [{ ...token, bytes: null }] }],
      refusal: null,
    },
    finish_reason: null,
  });
});

test("a role that every piece repeats is sent once, as the role of OpenAI's API", () => {
  const piece = { choices: [{ delta: { role: "model", content: "a", tool_calls: null } }] };
  const last = { choices: [{ delta: { content: "b", function_call: null } }] };
  expect(streamed([piece, piece, last]).map(({ choices }) => choices[0]?.delta)).toEqual([
    { role: "assistant", content: "a" },
    { content: "a" },
    { content: "b" },
    {},
  ]);
});

test.each([
  ["stop", "stop"],
  ["length", "length"],
  ["tool_calls", "tool_calls"],
  ["content_filter", "content_filter"],
  ["function_call", "function_call"],
  ["eos_token", "stop"],
  ["stop_sequence", "stop"],
  ["MAX_TOKENS", "length"],
  ["abort", "length"],
  ["error", "length"],
  ["tool_use", "tool_calls"],
  ["constructor", "stop"],
])("the finish reason %s is sent as %s", (said, told) => {
  const chunks = streamed([{ choices: [{ delta: { content: "a" }, finish_reason: said }] }]);
  expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([told]);
});

test("an unknown finish reason after a call becomes the one for calls", () => {
  const delta = { tool_calls: [{ index: 0, id: "call_a", function: { name: "f" } }] };
  const chunks = streamed([{ choices: [{ delta, finish_reason: "eos_token" }] }]);
  expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual(["tool_calls"]);
});

test("an empty finish reason counts as none, and a second one is dropped", () => {
  const piece = (finish_reason: string) => ({
    choices: [{ delta: { content: "a" }, finish_reason }],
  });
  const chunks = streamed([piece(""), piece("length"), piece("stop")]);
  expect(chunks.map(({ choices }) => choices[0]?.finish_reason)).toEqual([null, "length", null]);
});

test("each of several choices has a role and a finish reason", async () => {
  const piece = (index: number, content: string, finish_reason: string | null = null) => ({
    choices: [{ index, delta: { content }, finish_reason }],
  });
  const chunks = streamed([piece(1, "b"), piece(0, "a"), piece(1, "B", "length"), piece(0, "A")]);
  const { choices } = await received(chunks);
  expect(choices.map(({ message, finish_reason }) => [message.content, finish_reason])).toEqual([
    ["aA", "stop"],
    ["bB", "length"],
  ]);
});

test("a whole completion is streamed as one", async () => {
  const chunks = streamed([VLLM_COMPLETION], { includeUsage: true });
  const { choices, usage } = await received(chunks);
  expect(choices[0]?.message.content).toBe("Grüße, world");
  expect(choices[0]?.finish_reason).toBe("stop");
  expect(usage).toEqual({ prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 });
});

test("a chunk without choices and usage passes", () => {
  const [chunk] = streamed([{ choices: [], prompt_filter_results: [] }, "a"]);
  expect(chunk).toEqual({ ...OBJECT, choices: [], prompt_filter_results: [] });
});

test("an output that is no answer to a chat is refused", () => {
  expect(() => streamed(["a", 3])).toThrow(TranslationFailed);
});

const FULL = { input_tokens: 9, output_tokens: 3 };
const CALL = { choices: [{ index: 0, delta: { tool_calls: [{ id: "a", function: {} }] } }] };
const piece = (index: number, finish_reason: string | null = null) => ({
  choices: [{ index, delta: { content: "a" }, finish_reason }],
});

test.each<[string, Json[], number | undefined, Json, (string | null)[]]>([
  ["as long as it may be", ["a"], 3, FULL, ["length"]],
  ["longer than it may be", ["a"], 2, FULL, ["length"]],
  ["shorter", ["a"], 4, FULL, ["stop"]],
  ["without a limit", ["a"], undefined, FULL, ["stop"]],
  ["of a length that is estimated", ["a"], 3, { ...FULL, tokens_estimated: 1 }, ["stop"]],
  ["of a length that nobody knows", ["a"], 3, null, ["stop"]],
  ["nothing, and as long as it may be", [], 3, FULL, ["length"]],
  ["a call that was cut", [CALL], 3, FULL, ["length"]],
  ["what the container says to be whole", [piece(0, "stop")], 3, FULL, ["stop"]],
  ["what it says an empty reason of", [piece(0, "")], 3, FULL, ["length"]],
  ["two choices with the tokens of one", [piece(0), piece(1)], 2, FULL, ["stop", "stop"]],
  ["two choices with the tokens of two", [piece(0), piece(1)], 1, FULL, ["length", "length"]],
])("a missing finish reason is derived for %s", (_, outputs, limit, metrics, reasons) => {
  const chunks = streamed(outputs, {
    ...(limit !== undefined && { limit }),
    done: { status: "succeeded", metrics },
  });
  const told = chunks.flatMap(({ choices }) => choices.map((choice) => choice.finish_reason));
  expect(told.filter((reason) => reason !== null)).toEqual(reasons);
});
