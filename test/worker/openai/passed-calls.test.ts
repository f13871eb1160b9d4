/** Completions, moderations and rerank, whose requests and answers pass between caller and container. */
import { describe, expect, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import { expectCompletion, expectCompletionChunk } from "../../published/validate.ts";
import { answer, dataOf, newOpenAi, predictionOf, usage } from "../support/openai.ts";

const { client, model, fleet } = await newOpenAi();

const PROMPT = "Once upon a time";
const completed = (text: string, finish_reason: string | null = "stop"): Json => ({
  id: "theirs",
  object: "text_completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, text, logprobs: null, finish_reason }],
});

const ask = (call: string, body: object, headers: Record<string, string> = {}) =>
  client.post(`/v1/vendora/${call}`, { model, ...body }, headers);
const complete = (more: object = {}) => ask("completions", { prompt: PROMPT, ...more });

describe("a completion", () => {
  test("a completion is a prediction, answered by the container under the caller's name of the model", async () => {
    const output = { ...Object(completed(" there was")), usage };
    const [response, job] = await Promise.all([complete({ seed: 3 }), answer(fleet, output)]);
    expect(job).toMatchObject({ call: "completions", interface: "vendora" });
    expect(job.input).toEqual({ model, prompt: PROMPT, seed: 3 });
    expect([response.status, predictionOf(response)]).toEqual([200, job.prediction_id]);
    const body = await response.json();
    expectCompletion(body);
    expect(body).toMatchObject({
      id: `cmpl-${job.prediction_id.replaceAll("-", "")}`,
      model,
      choices: [{ text: " there was", finish_reason: "stop" }],
      usage,
    });
  });

  test("a completion streams its chunks, then the usage", async () => {
    const asked = { stream: true, stream_options: { include_usage: true } };
    const [response] = await Promise.all([
      complete(asked),
      answer(fleet, completed(" there", null), completed(" was", "length")),
    ]);
    const data = await dataOf(response);
    expect(data.pop()).toBe("[DONE]");
    for (const chunk of data) expectCompletionChunk(chunk);
    expect(data).toMatchObject([
      { model, choices: [{ text: " there", finish_reason: null }], usage: null },
      { choices: [{ text: " was", finish_reason: "length" }] },
      { choices: [], usage },
    ]);
  });

  test.each([["text"], [["one", "two"]], [[1, 2, 3]], [[[1, 2], [3]]]])(
    "a completion takes the prompt %j",
    async (prompt) => {
      const [response, job] = await Promise.all([
        complete({ prompt }),
        answer(fleet, completed("on")),
      ]);
      expect([response.status, job.input?.prompt]).toEqual([200, prompt]);
    },
  );
});

describe("a completion of a Cog model", () => {
  const cog = newOpenAi({
    compatibilities: { vendora_completions: true },
    configuration: { interface: "cog" },
    input: { type: "object", properties: { prompt: { type: "string" }, stop: {} } },
  });

  test.each([[PROMPT], [[PROMPT]]])(
    "a completion of %j has the text that a Cog model writes",
    async (prompt) => {
      const { client: caller, model: poet, fleet: runner } = await cog;
      const [response, job] = await Promise.all([
        caller.post("/v1/vendora/completions", { model: poet, prompt, stop: ["."], seed: null }),
        answer(runner, " there", " was"),
      ]);
      expect(job.input).toEqual({ model: poet, prompt: PROMPT, stop: "." });
      const body = await response.json();
      expectCompletion(body);
      expect(body).toMatchObject({ choices: [{ text: " there was" }], usage });
    },
  );

  test.each([
    [{ prompt: ["one", "two"] }, "prompt"],
    [{ prompt: [1, 2] }, "prompt"],
    [{ n: 2 }, "n"],
    [{ best_of: 2 }, "best_of"],
    [{ echo: true }, "echo"],
    [{ logprobs: 0 }, "logprobs"],
    [{ suffix: "end" }, "suffix"],
  ])("a completion of a Cog model with %j is refused", async (wrong, param) => {
    const { client: caller, model: poet } = await cog;
    const body = { model: poet, prompt: PROMPT, ...wrong };
    const response = await caller.post("/v1/vendora/completions", body);
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  });
});

test("a moderation is the container's, of texts and of images", async () => {
  const results = [{ flagged: true, categories: { violence: true } }];
  const parts = [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }];
  for (const input of ["text", ["text"], parts]) {
    const [response, job] = await Promise.all([
      ask("moderations", { input }),
      answer(fleet, { id: "theirs", model: "m", results }),
    ]);
    expect([job.call, job.input?.input]).toEqual(["moderations", input]);
    const usage = { cost: 0 };
    const id = expect.stringMatching(/^modr-/);
    expect(await response.json()).toEqual({ id, model, results, usage });
  }
});

test("a ranking is the container's, best first and cut", async () => {
  const results = [0.1, 0.9, 0.5].map((relevance_score, index) => ({ index, relevance_score }));
  const body = { query: "tea", documents: ["a", { text: "b" }, "c"], top_n: 2 };
  const [response, job] = await Promise.all([ask("rerank", body), answer(fleet, { results })]);
  expect([job.call, job.input]).toEqual(["rerank", { model, ...body }]);
  expect(await response.json()).toEqual({
    id: expect.stringMatching(/^rerank-/),
    model,
    results: [results[1], results[2]],
    usage: { prompt_tokens: 3, total_tokens: 3, cost: 0 },
  });
});

test.each([
  ["completions", {}],
  ["moderations", { input: "text" }],
  ["rerank", { query: "tea", documents: ["a"] }],
])("an invalid answer to %s is a model_error", async (call, body) => {
  const [response] = await Promise.all([
    ask(call, { prompt: PROMPT, ...body }),
    answer(fleet, { nonsense: true }),
  ]);
  expect(response.status).toBe(502);
  expect(response.headers.get("x-should-retry")).toBe("false");
  expect(await response.json()).toMatchObject({ error: { code: "model_error" } });
});
