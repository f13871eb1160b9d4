import { describe, expect, it, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../src/protocol/runner.ts";
import { TokenUsage } from "../../../src/run/token-usage.ts";
import { record } from "../support/containers.ts";

/** Returns the metrics of a run with these outputs. */
function tokens(call: OpenAiCall, input: Record<string, Json>, outputs: Json[]) {
  const reporter = record();
  const meter = new TokenUsage(reporter, call, input);
  for (const output of outputs) meter.output(output);
  meter.settle();
  expect(reporter.of("output")).toEqual(outputs);
  const [metrics, ...more] = reporter.of("metrics");
  expect(more).toEqual([]);
  return metrics;
}

const chunk = (delta: Json, usage: Json = null) => ({ choices: [{ index: 0, delta }], usage });

describe("the tokens that came from a cache", () => {
  const details = { cached_tokens: 3 };
  const counted = { input_tokens: 7, output_tokens: 11, cached_tokens: 3 };

  it.each<[string, OpenAiCall, Json]>([
    [
      "a chat completion",
      "chat_completions",
      {
        choices: [],
        usage: { prompt_tokens: 7, completion_tokens: 11, prompt_tokens_details: details },
      },
    ],
    [
      "a response",
      "responses",
      { output: [], usage: { input_tokens: 7, output_tokens: 11, input_tokens_details: details } },
    ],
    [
      "a message",
      "messages",
      {
        type: "message",
        content: [],
        usage: { input_tokens: 4, cache_read_input_tokens: 3, output_tokens: 11 },
      },
    ],
  ])("%s has them", (_, call, output) => {
    expect(tokens(call, {}, [output])).toEqual(counted);
  });
});

describe("what outputs say of their tokens", () => {
  const usage = { prompt_tokens: 7, completion_tokens: 11, total_tokens: 18 };
  const own = { input_tokens: 7, output_tokens: 11, total_tokens: 18 };

  it.each<[string, OpenAiCall, Json[]]>([
    ["a last chunk", "chat_completions", [chunk({ content: "a" }), { choices: [], usage }]],
    [
      "every chunk, the last counts",
      "chat_completions",
      [
        chunk({ content: "a" }, { prompt_tokens: 7, completion_tokens: 1 }),
        chunk({}, usage),
        chunk({}),
      ],
    ],
    ["a completion", "chat_completions", [{ choices: [{ message: { content: "a" } }], usage }]],
    ["a response", "responses", [{ object: "response", output: [], usage: own }]],
    [
      "a response's events",
      "responses",
      [
        { type: "response.created", response: { usage: null } },
        { type: "response.output_text.delta", delta: "a" },
        { type: "response.completed", response: { usage: own } },
      ],
    ],
    [
      "a message, with what was written to the cache",
      "messages",
      [
        {
          type: "message",
          content: [],
          usage: { input_tokens: 4, cache_creation_input_tokens: 3, output_tokens: 11 },
        },
      ],
    ],
    [
      "a message's events",
      "messages",
      [
        { type: "message_start", message: { usage: { input_tokens: 7, output_tokens: 1 } } },
        { type: "content_block_delta", delta: { type: "text_delta", text: "a" } },
        { type: "message_delta", usage: { output_tokens: 11 } },
      ],
    ],
    [
      "chunks of a translated response",
      "responses",
      [chunk({ content: "a" }), { choices: [], usage }],
    ],
  ])("the usage in outputs counts: %s", (_, call, outputs) => {
    expect(tokens(call, {}, outputs)).toEqual({ input_tokens: 7, output_tokens: 11 });
  });

  it.each<[string, OpenAiCall, Json[]]>([
    [
      "a message",
      "messages",
      [
        { type: "message_start", message: { usage: { input_tokens: 7, output_tokens: 0 } } },
        { type: "content_block_delta", delta: { type: "text_delta", text: "12345678" } },
      ],
    ],
    ["a chat", "chat_completions", [chunk({ content: "12345678" }, { prompt_tokens: 7 })]],
    [
      "a chat that counts in each chunk",
      "chat_completions",
      [
        chunk({ content: "1234" }, { prompt_tokens: 7, completion_tokens: 1 }),
        chunk({ content: "5678" }),
      ],
    ],
    [
      "a response",
      "responses",
      [
        { type: "response.created", response: { usage: { input_tokens: 7, output_tokens: 0 } } },
        { type: "response.output_text.delta", delta: "12345678" },
      ],
    ],
    [
      "a completion",
      "completions",
      [{ choices: [{ text: "12345678" }], usage: { prompt_tokens: 7 } }],
    ],
  ])(
    "the usage after the last reported one is estimated for text of a stopped run: %s",
    (_, call, outputs) => {
      expect(tokens(call, {}, outputs)).toEqual({
        ...{ input_tokens: 7, output_tokens: 2 },
        tokens_estimated: 1,
      });
    },
  );

  it("the usage of rankings counts, of which some servers only report the total", () => {
    const answer = { results: [], usage: { total_tokens: 7 } };
    expect(tokens("rerank", {}, [answer])).toEqual({ input_tokens: 7, output_tokens: 0 });
    const asked = { query: "12345678", documents: ["1234", { text: "1234" }] };
    expect(tokens("rerank", asked, [{ results: [] }])).toEqual({
      ...{ input_tokens: 4, output_tokens: 0 },
      tokens_estimated: 1,
    });
  });

  it("the usage of completions counts, or is estimated", () => {
    const asked = { prompt: ["12345678", [1, 2]] };
    expect(tokens("completions", asked, [{ choices: [{ text: "1234" }] }])).toEqual({
      ...{ input_tokens: 4, output_tokens: 1 },
      tokens_estimated: 1,
    });
  });

  it("the usage of embeddings counts, which have no output tokens", () => {
    const answer = { data: [{ embedding: [1, 2] }], usage: { prompt_tokens: 7, total_tokens: 7 } };
    expect(tokens("embeddings", {}, [answer])).toEqual({ input_tokens: 7, output_tokens: 0 });
  });

  it("the usage is kept where a later one has fewer fields", () => {
    const outputs: Json[] = [
      { usage },
      { usage: { prompt_tokens: 8 } },
      { usage: { total_tokens: 9 } },
    ];
    const counted = { input_tokens: 8, output_tokens: 11 };
    expect(tokens("chat_completions", {}, outputs)).toEqual(counted);
  });

  it.each([
    ["7", -1],
    [Number.POSITIVE_INFINITY, JSON.parse("1e999")],
    [1.5, 1e300],
  ])(
    "a usage that is no number of tokens is ignored: %s, %s",
    (prompt_tokens, completion_tokens) => {
      const usage = { prompt_tokens, completion_tokens };
      expect(tokens("chat_completions", {}, [{ choices: [], usage }])).toEqual({
        input_tokens: 0,
        output_tokens: 0,
        tokens_estimated: 1,
      });
    },
  );
});

describe("what a model reports", () => {
  const reported = (metrics: Record<string, number>, outputs: Json[] = ["12345678"]) => {
    const reporter = record();
    const meter = new TokenUsage(reporter, "chat_completions", { messages: [{ content: "1234" }] });
    for (const output of outputs) meter.output(output);
    meter.metrics(metrics);
    meter.settle();
    return reporter.of("metrics");
  };

  it("the usage in a model's metrics counts, and all metrics are passed on", () => {
    const metrics = { input_tokens: 5, output_tokens: 6, predict_time: 0.5 };
    expect(reported(metrics)).toEqual([metrics, { input_tokens: 5, output_tokens: 6 }]);
  });

  it("the usage counts under the names of language models on Replicate", () => {
    const metrics = { input_token_count: 5, output_token_count: 6 };
    expect(reported(metrics)).toEqual([metrics, { input_tokens: 5, output_tokens: 6 }]);
  });

  it.each([-5, 0.5, 1e300])("a metric that is no number of tokens is ignored: %s", (count) => {
    const estimated = { input_tokens: 1, output_tokens: 2, tokens_estimated: 1 };
    expect(reported({ input_tokens: count, output_tokens: count })[1]).toEqual(estimated);
    const sizes = { input_tokens: count, input_token_count: 5, output_tokens: 6 };
    expect(reported(sizes)[1]).toEqual({ input_tokens: 5, output_tokens: 6 });
  });

  it("a usage that is missing in the metrics is estimated", () => {
    const estimated = { input_tokens: 1, output_tokens: 2, tokens_estimated: 1 };
    expect(reported({ predict_time: 1 })[1]).toEqual(estimated);
    expect(reported({ output_tokens: 9 })[1]).toEqual({ ...estimated, output_tokens: 9 });
  });

  it("the usage in a model's metrics is overruled by that of its outputs", () => {
    const usage = { prompt_tokens: 1, completion_tokens: 2 };
    const outputs = [{ choices: [], usage }];
    const [, metrics] = reported({ input_tokens: 5, output_tokens: 6 }, outputs);
    expect(metrics).toEqual({ input_tokens: 1, output_tokens: 2 });
  });
});

describe("an estimate", () => {
  const of = (call: OpenAiCall, input: Record<string, Json>, outputs: Json[]) => {
    const metrics = tokens(call, input, outputs);
    expect(metrics).toMatchObject({ tokens_estimated: 1 });
    return metrics;
  };
  const answer = "x".repeat(40);

  it.each<[string, Json[], number]>([
    ["text in pieces", ["12", "34", "5"], 2],
    [
      "chunks",
      [chunk({ role: "assistant", content: "" }), chunk({ content: answer }), chunk({})],
      10,
    ],
    [
      "thoughts, by either name or both",
      [
        chunk({ reasoning_content: answer }),
        chunk({ reasoning: answer, reasoning_content: answer }),
      ],
      20,
    ],
    ["refusals", [chunk({ refusal: answer })], 10],
    [
      "calls",
      [
        chunk({
          tool_calls: [{ index: 0, function: { name: "four", arguments: answer } }, { index: 1 }],
        }),
      ],
      11,
    ],
    [
      "several choices",
      [{ choices: [{ message: { content: answer } }, { message: { content: answer } }] }],
      20,
    ],
    [
      "a response's events, once",
      [
        { type: "response.output_text.delta", delta: answer },
        { type: "response.output_text.done", text: answer },
        { type: "response.completed", response: { output: [{ content: [{ text: answer }] }] } },
      ],
      10,
    ],
    [
      "a whole response",
      [
        {
          object: "response",
          output: [
            { type: "reasoning", summary: [{ text: answer }] },
            { type: "message", content: [{ text: answer }, { refusal: answer }] },
            { type: "function_call", name: "four", arguments: answer },
          ],
        },
      ],
      41,
    ],
    [
      "what is none of these",
      [null, 7, ["x"], { odd: "x" }, { choices: [null, {}, { delta: 1 }] }],
      0,
    ],
  ])("the output tokens are estimated: %s", (_, outputs, output_tokens) => {
    expect(of("chat_completions", {}, outputs)).toMatchObject({ output_tokens });
  });

  it.each<[string, Record<string, Json>, number]>([
    [
      "messages",
      {
        messages: [
          { role: "system", content: "12345678" },
          { role: "user", content: "1234" },
        ],
        user: answer,
      },
      3,
    ],
    [
      "parts, without the images",
      {
        messages: [
          {
            content: [
              { type: "text", text: "1234" },
              { type: "image_url", image_url: { url: answer } },
            ],
          },
        ],
      },
      1,
    ],
    [
      "calls and their results",
      {
        messages: [
          { content: null, tool_calls: [{ id: answer, function: { arguments: "1234" } }] },
          { content: "1234" },
        ],
      },
      2,
    ],
    ["a text", { input: "12345" }, 2],
    ["texts", { input: ["1234", "5678"] }, 2],
    ["tokens", { input: [1, 2, 3] }, 3],
    ["lists of tokens", { input: [[1, 2], [3]] }, 3],
    [
      "items",
      {
        instructions: "1234",
        input: [
          { role: "user", content: [{ type: "input_text", text: "1234" }] },
          { type: "function_call_output", output: "1234" },
        ],
      },
      3,
    ],
    ["nothing", {}, 0],
  ])("the input tokens are estimated: %s", (_, input, input_tokens) => {
    expect(of("responses", input, [])).toMatchObject({ input_tokens });
  });

  it("the estimate does not follow an input endlessly", () => {
    let deep: Json = "1234";
    for (let depth = 0; depth < 10_000; depth++) deep = { content: deep };
    expect(of("chat_completions", { messages: deep }, [])).toMatchObject({ input_tokens: 0 });
  });
});

test("events other than outputs pass unchanged", () => {
  const reporter = record();
  const meter = new TokenUsage(reporter, "chat_completions", {});
  meter.setup({ phase: "ready" });
  meter.logs("a");
  meter.storedOutput({ name: "n", size: 1 });
  expect(meter.reserve(1)).toBe(true);
  expect(reporter.events.map(({ event }) => event)).toEqual(["setup", "logs", "stored"]);
});
