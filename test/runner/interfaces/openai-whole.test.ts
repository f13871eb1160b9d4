/** Whole answers for callers, joined from the stream that the server is asked for. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import {
  asking,
  CHAT,
  chat,
  chunk,
  connect,
  DONE,
  data,
  events,
  FakeServer,
  json,
  LIMITS,
  until,
} from "../support/openai-server.ts";

/** The fields of a chunk as llama.cpp sends them. */
const HEAD = { id: "chatcmpl-1", created: 7, model: "/m/small.gguf", system_fingerprint: "b1" };
const piece = (delta: object, more: object = {}, index = 0) => ({
  ...HEAD,
  object: "chat.completion.chunk",
  choices: [{ index, delta, finish_reason: null, ...more }],
});
const usage = { prompt_tokens: 22, completion_tokens: 2, total_tokens: 24 };
const last = { ...HEAD, choices: [], usage, timings: { predicted_n: 2 } };
const stream = (...values: object[]) => events([...values.map(data), DONE]);

async function whole(...values: object[]) {
  const { reporter, finish } = await chat(stream(...values), { stream: false });
  expect(finish).toMatchObject({ status: "succeeded", output: "value" });
  const [answer, ...more] = reporter.of("output");
  expect(more).toEqual([]);
  return answer as { [name: string]: Json };
}

describe("a chat in one piece", () => {
  it("a whole chat is the joined stream, with the server's own fields", async () => {
    const answer = await whole(
      piece({ role: "assistant", content: null }),
      piece({ content: "He" }),
      { ...piece({ content: "llo" }), usage: null },
      piece({}, { finish_reason: "length" }),
      last,
    );
    expect(answer).toEqual({
      ...HEAD,
      model: "ada/parrot",
      object: "chat.completion",
      choices: [
        {
          index: 0,
          finish_reason: "length",
          logprobs: null,
          message: { role: "assistant", content: "Hello", refusal: null },
        },
      ],
      usage,
      timings: { predicted_n: 2 },
    });
  });

  it("a whole chat has calls of tools, other choices and probabilities", async () => {
    const call = (more: object) => ({ tool_calls: [{ index: 0, ...more }] });
    const token = { token: "b", logprob: -1, bytes: [98], top_logprobs: [] };
    const answer = await whole(
      piece(call({ id: "c1", type: "function", function: { name: "sum", arguments: "" } })),
      piece({ content: "a" }, { logprobs: { content: [{ ...token, token: "a" }] } }, 1),
      piece(call({ function: { arguments: '{"n"' } })),
      piece({ content: "b" }, { logprobs: { content: [token] }, finish_reason: "stop" }, 1),
      piece(call({ function: { arguments: ":1}" } }), { finish_reason: "tool_calls" }),
    );
    const called = { id: "c1", type: "function" };
    expect(answer.choices).toMatchObject([
      {
        index: 0,
        finish_reason: "tool_calls",
        message: {
          content: null,
          tool_calls: [{ ...called, function: { name: "sum", arguments: '{"n":1}' } }],
        },
      },
      {
        index: 1,
        finish_reason: "stop",
        message: { content: "ab" },
        logprobs: { content: [{ token: "a" }, { token: "b" }] },
      },
    ]);
    expect(answer.usage).toBeUndefined();
  });

  it("a whole chat may come in more bytes than an output may have, but may not have more itself", async () => {
    const pieces = (text: string) => Array.from({ length: 600 }, () => piece({ content: text }));
    const answer = await whole(...pieces("x"));
    expect(answer.choices).toMatchObject([{ message: { content: "x".repeat(600) } }]);
    const { reporter, finish } = await chat(stream(...pieces("x".repeat(200))), { stream: false });
    const message = `The container's response is larger than ${LIMITS.output_bytes} bytes.`;
    expect(finish).toMatchObject({ status: "failed", output: "none", error: { message } });
    expect(reporter.events).toEqual([]);
  });

  it.each([
    ["an error", [chunk("a"), { error: { message: "out of pages", code: 503 } }]],
    ["what is no chunk", [chunk("a"), { choices: 1 }]],
    ["nothing", []],
  ])("a whole chat fails without output by a stream with %s", async (_, values) => {
    const { reporter, finish } = await chat(stream(...values), { stream: false });
    const error = { source: "external" };
    expect(finish).toMatchObject({ status: "failed", output: "none", error });
    expect(reporter.events).toEqual([]);
  });

  it.each([
    { error: { message: "Streaming is not supported with beam search.", param: null } },
    { error: { message: "not with this", param: "stream_options" } },
  ])(
    "a whole chat is requested without a stream where the server cannot stream it: %j",
    async (refusal) => {
      const server = await FakeServer.start({
        [CHAT]: (response, { stream }) =>
          json(stream ? 400 : 200, stream ? refusal : { choices: [] })(response, {}),
      });
      const { run } = await connect(server);
      const { outcome } = run("chat_completions", { ...asking, stream: false, n: 2 });
      expect((await outcome).finish).toMatchObject({ status: "succeeded", output: "value" });
      const [, second, ...more] = server.bodies(CHAT);
      expect(second).toEqual({ ...asking, model: "served", stream: false, n: 2 });
      expect(more).toEqual([]);
    },
  );

  it("a whole chat is refused once where the server refuses something else", async () => {
    const refusal = json(400, { error: { message: "too hot", param: "temperature" } });
    const { server, finish, inputRejected } = await chat(refusal, {});
    expect(finish).toMatchObject({ status: "failed", error: { message: "too hot" } });
    expect(inputRejected).toBe(true);
    expect(server.bodies(CHAT)).toHaveLength(1);
  });

  it("a whole chat that is canceled has its connection closed", async () => {
    const server = await FakeServer.start({ [CHAT]: events([data(chunk("a"))], false) });
    const { run } = await connect(server);
    const { reporter, outcome, stop } = run("chat_completions", asking);
    await until(() => server.open === 1);
    stop();
    server.answers["/metrics"] = (response) =>
      void response.end(`llamacpp:requests_processing ${server.open}\n`);
    expect(await outcome).toMatchObject({
      finish: { status: "canceled", output: "none" },
      container: "kept",
    });
    expect(server.open).toBe(0);
    expect(reporter.events).toEqual([]);
  });
});

describe("a response in one piece", () => {
  const message = { type: "message", id: "m1", content: [{ type: "output_text", text: "hi" }] };
  const of = (status: string, more: object = {}) => ({
    type: `response.${status}`,
    response: { object: "response", id: "r1", status, model: "served", output: [message], ...more },
  });
  const begun = of("in_progress", { output: [] });
  const told = { type: "response.output_text.delta", delta: "hi" };

  const respond = async (...values: object[]) => {
    const server = await FakeServer.start({ "/v1/responses": stream(...values) });
    const { run } = await connect(server);
    const { reporter, outcome } = run("responses", { input: "hi" });
    return { reporter, ...(await outcome) };
  };

  it("a whole response is the one in its stream's last event", async () => {
    for (const status of ["completed", "incomplete"]) {
      const { reporter, finish } = await respond(begun, told, of(status));
      expect(finish).toMatchObject({ status: "succeeded", output: "value" });
      expect(reporter.of("output")).toEqual([{ ...of(status).response, model: "ada/parrot" }]);
    }
  });

  it("a whole response has the items of the stream, where its end leaves them out", async () => {
    const item = { type: "response.output_item.done", output_index: 0, item: message };
    const { reporter } = await respond(begun, item, of("completed", { output: [] }));
    expect(reporter.of("output")).toMatchObject([{ status: "completed", output: [message] }]);
  });

  it("a whole response that has failed is kept, and the run has failed", async () => {
    const error = { code: "server_error", message: "no" };
    const { reporter, finish } = await respond(begun, of("failed", { error }));
    expect(finish).toMatchObject({ status: "failed", output: "value", error: { message: "no" } });
    expect(reporter.of("output")).toMatchObject([{ status: "failed", model: "ada/parrot" }]);
  });

  it("a whole response without its end is no output", async () => {
    const { reporter, finish } = await respond(begun, told);
    expect(finish).toMatchObject({ status: "failed", output: "none" });
    expect(reporter.events).toEqual([]);
  });
});
