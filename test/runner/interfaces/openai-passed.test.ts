/** Completions, moderations and rerank, which a server may or may not have. */
import { describe, expect, it } from "vitest";
import type { OpenAiCall, ResponsesVia } from "../../../src/protocol/runner.ts";
import {
  type Answer,
  type Body,
  CHAT,
  chunk,
  connect,
  DONE,
  data,
  events,
  FakeServer,
  json,
  LIMITS,
} from "../support/openai-server.ts";

const USAGE = { prompt_tokens: 2, completion_tokens: 2, total_tokens: 4 };
const piece = (text: string, finish_reason: string | null = null) => ({
  id: "cmpl-1",
  object: "text_completion",
  created: 1,
  model: "served",
  choices: [{ index: 0, text, logprobs: null, finish_reason }],
});

async function ask(call: OpenAiCall, answers: Record<string, Answer>, input: Body) {
  const server = await FakeServer.start(answers);
  const { run } = await connect(server);
  const { reporter, outcome } = run(call, { model: "ada/parrot:3", ...input });
  return { server, run, reporter, ...(await outcome) };
}

describe("a completion", () => {
  const COMPLETIONS = "/v1/completions";
  const end = { ...piece("", "stop"), choices: [], usage: USAGE };
  const streamed = events([data(piece("He")), data(piece("llo", "length")), data(end), DONE]);

  it("a completion streams with the caller's model name and its usage", async () => {
    const asked = { prompt: "hi", stream: true };
    const { server, finish, reporter } = await ask(
      "completions",
      { [COMPLETIONS]: streamed },
      asked,
    );
    expect(finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(server.bodies(COMPLETIONS)).toEqual([
      { ...asked, model: "served", stream_options: { include_usage: true } },
    ]);
    expect(reporter.of("output")).toMatchObject([
      { model: "ada/parrot", choices: [{ text: "He" }] },
      { choices: [{ text: "llo" }] },
      { usage: USAGE },
    ]);
  });

  it("a completion is requested as a stream even if the caller wants it whole, so that it can be stopped", async () => {
    const { server, finish, reporter } = await ask(
      "completions",
      { [COMPLETIONS]: streamed },
      { prompt: "hi" },
    );
    expect(finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(server.bodies(COMPLETIONS)[0]).toMatchObject({ stream: true });
    expect(reporter.of("output")).toEqual([
      {
        ...piece("Hello", "length"),
        model: "ada/parrot",
        usage: USAGE,
      },
    ]);
  });

  it("a completion that cannot be streamed is requested whole", async () => {
    const answer: Answer = (response, { stream }) =>
      stream
        ? json(400, { error: { message: "best_of cannot be used with stream" } })(response, {})
        : json(200, piece("Hello", "stop"))(response, {});
    const asked = { prompt: "hi", best_of: 2 };
    const { finish, reporter } = await ask("completions", { [COMPLETIONS]: answer }, asked);
    expect(finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(reporter.of("output")).toMatchObject([{ choices: [{ text: "Hello" }] }]);
  });

  describe("of several prompts", () => {
    const prompt = ["one", "two"];
    const whole = [
      { index: 0, text: "Hello", finish_reason: "length" },
      { index: 1, text: "Hello", finish_reason: "length" },
    ];
    const both = { prompt_tokens: 4, completion_tokens: 4, total_tokens: 8 };
    /** Answers like llama-cpp-python, which asserts that the list has one prompt. */
    const oneOnly: Answer = (response, body) =>
      Array.isArray(body.prompt)
        ? json(500, { error: { message: "[]", type: "internal_server_error" } })(response, body)
        : streamed(response, body);

    it("a completion of several prompts is requested whole, one by one, if the server takes one", async () => {
      const { server, finish, reporter } = await ask(
        "completions",
        { [COMPLETIONS]: oneOnly },
        { prompt },
      );
      expect(finish).toMatchObject({ status: "succeeded", output: "value" });
      expect(server.bodies(COMPLETIONS).map((body) => body.prompt)).toEqual([prompt, ...prompt]);
      expect(reporter.of("output")).toMatchObject([{ choices: whole, usage: both }]);
    });

    it("a completion of several prompts is streamed one by one, if the server takes one", async () => {
      const asked = { prompt, stream: true };
      const { finish, reporter } = await ask("completions", { [COMPLETIONS]: oneOnly }, asked);
      expect(finish).toMatchObject({ status: "succeeded", output: "items" });
      expect(reporter.of("output")).toMatchObject([
        { choices: [{ index: 0, text: "He" }] },
        { choices: [{ index: 0, text: "llo" }] },
        { choices: [], usage: USAGE },
        { choices: [{ index: 1, text: "He" }] },
        { choices: [{ index: 1, text: "llo" }] },
        { choices: [], usage: both },
      ]);
    });

    it("a completion of a list with one prompt is requested without the list", async () => {
      const { server, finish } = await ask(
        "completions",
        { [COMPLETIONS]: oneOnly },
        {
          prompt: ["one"],
        },
      );
      expect(finish).toMatchObject({ status: "succeeded", output: "value" });
      expect(server.bodies(COMPLETIONS).map((body) => body.prompt)).toEqual([["one"], "one"]);
    });

    it("a completion that the server refuses for another reason is refused for that", async () => {
      const refused = json(400, { error: { message: "no such temperature" } });
      const { finish } = await ask("completions", { [COMPLETIONS]: refused }, { prompt });
      expect(finish).toMatchObject({ error: { detail: { status: 400 } } });
    });

    it("a completion may be answered with a list of completions, as by llama.cpp", async () => {
      const one = (index: number) => ({
        ...piece("Hello", "length"),
        choices: [whole[index]],
        usage: USAGE,
      });
      const list = json(200, [one(0), one(1)]);
      const { reporter } = await ask("completions", { [COMPLETIONS]: list }, { prompt });
      expect(reporter.of("output")).toMatchObject([{ choices: whole, usage: both }]);
      const lists = events([data([one(0), one(1)]), DONE]);
      const stream = await ask("completions", { [COMPLETIONS]: lists }, { prompt, stream: true });
      expect(stream.reporter.of("output")).toMatchObject([
        { choices: [whole[0]] },
        { choices: [whole[1]] },
      ]);
    });
  });

  it("a completion of a server without completions fails", async () => {
    const { finish } = await ask("completions", {}, { prompt: "hi" });
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 404 } } });
  });
});

it("a moderation is passed on", async () => {
  const answer = { id: "modr-1", model: "served", results: [{ flagged: false }] };
  const path = "/v1/moderations";
  const { server, reporter } = await ask(
    "moderations",
    { [path]: json(200, answer) },
    { input: "a" },
  );
  expect(server.bodies(path)).toEqual([{ model: "served", input: "a" }]);
  expect(reporter.of("output")).toEqual([{ ...answer, model: "ada/parrot" }]);
});

describe("rerank", () => {
  const asked = { query: "tea", documents: ["a", { text: "b" }], top_n: 1 };
  const results = [{ index: 1, relevance_score: 0.5 }];

  it("rerank is passed on", async () => {
    const path = "/v1/rerank";
    const { server, reporter } = await ask(
      "rerank",
      { [path]: json(200, { model: "served", results }) },
      asked,
    );
    expect(server.bodies(path)).toEqual([{ ...asked, model: "served" }]);
    expect(reporter.of("output")).toEqual([{ model: "ada/parrot", results }]);
  });

  it("rerank uses TEI's own API, at once the next time", async () => {
    const { server, run, finish, reporter } = await ask(
      "rerank",
      { "/rerank": json(200, [{ index: 1, score: 0.5 }]) },
      asked,
    );
    expect(finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(reporter.of("output")).toEqual([{ results }]);
    await run("rerank", asked).outcome;
    expect(server.bodies("/v1/rerank")).toHaveLength(1);
    const sent = { query: "tea", texts: ["a", "b"], return_text: false };
    expect(server.bodies("/rerank")).toEqual([sent, sent]);
  });

  it("rerank by TEI is refused with TEI's error, and requests that TEI cannot take with ours", async () => {
    const full = json(413, { error: "batch size 33 > maximum 32", error_type: "Validation" });
    const { finish, inputRejected } = await ask("rerank", { "/rerank": full }, asked);
    const error = { message: "batch size 33 > maximum 32" };
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 413, error } } });
    expect(inputRejected).toBe(true);
    const other = await ask("rerank", {}, { query: "tea", documents: [{ image: "a" }] });
    const detail = { status: 400, error: { param: "documents[0]" } };
    expect(other.finish).toMatchObject({ status: "failed", error: { detail } });
  });
});

const OWN = "/v1/responses";
const response = { object: "response", status: "completed", model: "served", output: [] };
const chats = events([data(chunk("on")), DONE]);

const documented = (fields: string[]) => ({
  "/openapi.json": json(200, {
    openapi: "3.1.0",
    paths: {
      [OWN]: {
        post: {
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/Asked" } } },
          },
        },
      },
    },
    components: {
      schemas: {
        Asked: { properties: Object.fromEntries(fields.map((name) => [name, {}])) },
      },
    },
  }),
});

const VLLM = documented(["input", "max_output_tokens", "text", "tools"]);
const SGLANG = documented(["input", "max_output_tokens", "tools"]);
const LLAMA_CPP = {};

const format = { type: "json_schema", name: "a", schema: { type: "object" } };
const hosted = [{ type: "web_search" }];

it.each<[string, Record<string, Answer>, Body, ResponsesVia, string]>([
  ["a server that describes what is asked", VLLM, { text: { format } }, "best", OWN],
  ["a server without the field that is asked", SGLANG, { text: { format } }, "best", CHAT],
  ["the same server for plain text", SGLANG, { text: { format: { type: "text" } } }, "best", OWN],
  ["a server that does not describe itself", LLAMA_CPP, { max_output_tokens: 9 }, "best", CHAT],
  ["what a chat cannot express", LLAMA_CPP, { tools: hosted }, "best", OWN],
  ["a version that has responses alone", LLAMA_CPP, { text: { format } }, "own", OWN],
  ["a version whose vendora_responses is false", VLLM, {}, "chat", CHAT],
])("a response of %s uses the endpoint that supports more", async (_, more, asked, via, path) => {
  const server = await FakeServer.start({ ...more, [OWN]: json(200, response), [CHAT]: chats });
  const { run } = await connect(server);
  const { finish } = await run("responses", { input: "Hi", ...asked }, LIMITS, via).outcome;
  expect(finish).toMatchObject({ status: "succeeded" });
  expect(server.asked.map((one) => one.path).filter((one) => one === OWN || one === CHAT)).toEqual([
    path,
  ]);
});

it("a server without chats is asked for its own responses, at once the next time", async () => {
  const server = await FakeServer.start({ [OWN]: json(200, response) });
  const { run } = await connect(server);
  for (let n = 0; n < 2; n++) await run("responses", { input: "Hi" }, LIMITS, "best").outcome;
  expect(server.bodies(CHAT)).toHaveLength(1);
  expect(server.bodies(OWN)).toHaveLength(2);
});
