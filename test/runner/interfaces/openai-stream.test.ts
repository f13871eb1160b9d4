import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../src/protocol/runner.ts";
import { OpenAiStream } from "../../../src/run/openai/stream.ts";
import {
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
} from "../support/openai-server.ts";

const named = (content: string, more: object = {}) => ({
  ...chunk(content, more),
  model: "ada/parrot",
});

describe("a chat's stream", () => {
  it("a chat's stream becomes one output per event, with the callers' name for the model", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2 };
    const pieces = [data(chunk("Hel")), data(chunk("lo", { usage, timings: { ms: 1 } })), DONE];
    const { reporter, finish, container } = await chat(events(pieces));
    expect(reporter.of("output")).toEqual([
      named("Hel"),
      named("lo", { usage, timings: { ms: 1 } }),
    ]);
    expect(finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(finish.execution_seconds).toBeGreaterThan(0);
    expect(container).toBe("kept");
  });

  it("a chat's stream may be cut anywhere, also inside characters, with any line ends and comments", async () => {
    const text = `: keep-alive\r\n\r\n${data(chunk("Grüße 🦜"))}event: x\r\ndata: ${JSON.stringify(chunk("あ"))}\r\n\r\n:\n\ndata:\n\n${DONE}`;
    const bytes = Buffer.from(text);
    const pieces = [...bytes].map((byte) => Buffer.from([byte]));
    const { reporter, finish } = await chat(events(pieces));
    expect(reporter.of("output")).toEqual([named("Grüße 🦜"), named("あ")]);
    expect(finish).toMatchObject({ status: "succeeded" });
  });

  it("a chat's stream ends at its marker, also when the server goes on or sends nothing more", async () => {
    for (const after of [[data(chunk("late")), "data: <html>\n\n"], []]) {
      const { server, reporter, finish } = await chat(
        events([data(chunk("a")), DONE, ...after], false),
      );
      expect(reporter.of("output")).toEqual([named("a")]);
      expect(finish).toMatchObject({ status: "succeeded" });
      await expect.poll(() => server.open).toBe(0);
    }
  });

  it("a chat's stream ends at its marker, also when more comes with it", async () => {
    const late = data(chunk("late"));
    const { reporter, finish } = await chat(events([data(chunk("a")) + DONE + late + late]));
    expect(reporter.of("output")).toEqual([named("a")]);
    expect(finish).toMatchObject({ status: "succeeded" });
  });

  it("a chat's stream may be empty", async () => {
    const { finish } = await chat(events([DONE]));
    expect(finish).toMatchObject({ status: "succeeded", output: "items" });
  });

  it("a chat's stream fails without its end, and keeps its output", async () => {
    const { reporter, finish, container } = await chat(events([data(chunk("a"))]));
    expect(reporter.of("output")).toHaveLength(1);
    const message = "The connection to the container was lost: the stream ended early.";
    expect(finish).toMatchObject({
      status: "failed",
      output: "items",
      error: { source: "external", message, detail: { status: 502, error: { message } } },
    });
    expect(container).toBe("kept");
  });

  it.each([
    [{ error: { message: "out of pages", type: "x", param: null, code: 503 } }, 503, "x", null],
    [{ error: { message: "out of pages", code: "oom" } }, 500, "server_error", "oom"],
    [{ error: "out of pages", error_type: "overloaded" }, 500, "overloaded", null],
  ])("a chat's stream fails with an error inside: %j", async (error, status, type, code) => {
    const answer = events([data(chunk("a")), data(error), data(chunk("late")), DONE]);
    const { reporter, finish } = await chat(answer);
    expect(reporter.of("output")).toEqual([named("a")]);
    const message = "out of pages";
    const detail = { status, error: { message, type, param: null, code } };
    const output = "items";
    expect(finish).toMatchObject({ status: "failed", output, error: { message, detail } });
  });

  it("a chat's stream is not refused by an error that comes after output", async () => {
    const error = data({ error: { message: "too long", code: 400 } });
    expect(await chat(events([error]))).toMatchObject({ inputRejected: true });
    expect(await chat(events([data(chunk("a")), error]))).toMatchObject({ inputRejected: false });
  });

  it.each(["<html>", '"text"', "[1]", "{"])(
    "a chat's stream fails with a text that is no event: %s",
    async (text) => {
      const { reporter, finish } = await chat(events([`data: ${text}\n\n`, DONE]));
      expect(reporter.of("output")).toEqual([]);
      const message = expect.stringContaining("an event that is not a JSON object");
      expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
    },
  );

  it("a chat's stream fails with a number that JSON does not have, and the error has its path", async () => {
    const event = '{"choices": [{"index": 0, "logprobs": {"content": [{"logprob": -Infinity}]}}]}';
    const { finish } = await chat(events([`data: ${event}\n\n`, DONE]));
    const message = expect.stringContaining("-Infinity in choices[0].logprobs.content[0].logprob");
    expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
  });

  it("a chat's stream fails with an event that is too large, on one line or on many", async () => {
    const line = `data: ${"x".repeat(1_000)}\n`;
    for (const pieces of [
      [`data: ${"x".repeat(60_000)}`, "x".repeat(60_000)],
      Array(150).fill(line),
    ]) {
      const { finish } = await chat(events(pieces, false));
      const message = "The container sent an event larger than 100000 characters.";
      expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
    }
  });
});

describe("a response's stream", () => {
  const event = (type: string, more: object = {}) => data({ type, ...more });
  const created = event("response.created", { response: { id: "r", model: "served" } });
  const ask = async (pieces: string[]) => {
    const server = await FakeServer.start({ "/v1/responses": events(pieces) });
    const { run } = await connect(server);
    const { reporter, outcome } = run("responses", { model: "x", input: "hi", stream: true });
    return { reporter, ...(await outcome) };
  };

  it.each(["response.completed", "response.incomplete"])(
    "a response's stream ends with %s",
    async (type) => {
      const last = event(type, { response: { id: "r", model: "served", usage: null } });
      const { reporter, finish } = await ask([created, last, event("response.late"), DONE]);
      expect(reporter.of("output")).toEqual([
        { type: "response.created", response: { id: "r", model: "ada/parrot" } },
        { type, response: { id: "r", model: "ada/parrot", usage: null } },
      ]);
      expect(finish).toMatchObject({ status: "succeeded", output: "items" });
    },
  );

  it("a response's stream fails with response.failed, which is kept", async () => {
    const error = { code: "server_error", message: "no" };
    const { reporter, finish } = await ask([
      created,
      event("response.failed", { response: { error } }),
    ]);
    expect(reporter.of("output")).toHaveLength(2);
    const detail = { status: 500, error: { type: "server_error", param: null, ...error } };
    expect(finish).toMatchObject({ status: "failed", error: { message: "no", detail } });
  });

  it("a response's stream fails also when response.failed has no error", async () => {
    const message = "The response failed without an error message.";
    for (const response of [{ error: null }, {}, null]) {
      const { finish } = await ask([created, event("response.failed", { response })]);
      expect(finish).toMatchObject({ status: "failed", error: { message } });
    }
  });

  it.each([
    [{ type: "error", message: "no", code: "x", param: "input" }, "x", "input"],
    [{ type: "error", error: { message: "no", code: "x", type: "server_error" } }, "x", null],
  ])("a response's stream fails with an event of type error: %j", async (error, code, param) => {
    const { reporter, finish } = await ask([created, data(error)]);
    expect(reporter.of("output")).toHaveLength(1);
    const detail = { status: 500, error: { message: "no", type: "server_error", param, code } };
    expect(finish).toMatchObject({ status: "failed", error: { message: "no", detail } });
  });

  it("a response's stream fails without its last event, with or without a marker", async () => {
    for (const pieces of [[created], [created, DONE]]) {
      expect(await ask(pieces)).toMatchObject({ finish: { status: "failed", output: "items" } });
    }
  });
});

it("an answer is read as a stream or as a value by its content type, whatever was requested", async () => {
  const streamed = await chat(events([data(chunk("a")), DONE]), { stream: false });
  expect(streamed.finish).toMatchObject({ status: "succeeded", output: "value" });
  const whole = await chat(json(200, { choices: [] }), { stream: true });
  expect(whole.finish).toMatchObject({ status: "succeeded", output: "value" });
});

test("a stream has the same outputs, however it is cut", () => {
  const texts = fc.array(fc.string({ unit: "grapheme" }), { maxLength: 8 });
  const ends = fc.constantFrom("\n", "\r\n", "\r");
  fc.assert(
    fc.property(texts, ends, fc.array(fc.nat(60)), (contents, end, cuts) => {
      const outputs: Json[] = [];
      const output = (value: Json) => void outputs.push(value);
      const { output_bytes: maxChars } = LIMITS;
      const stream = new OpenAiStream({
        call: "chat_completions",
        maxChars,
        model: "ada/parrot",
        output,
      });
      const lines = contents.flatMap((text) => [
        `: ${text.replace(/[\r\n]/g, "")}`,
        data(chunk(text)).trim(),
        "",
      ]);
      const whole = [...lines, "data: [DONE]", "", ""].join(end);
      let from = 0;
      for (const cut of cuts) {
        stream.feed(whole.slice(from, from + cut));
        from += cut;
      }
      stream.feed(whole.slice(from));
      // The marker's own line end may be the first half of another line end.
      if (end === "\r") stream.feed("\n");
      expect(outputs).toEqual(contents.map((text) => named(text)));
      expect(stream.end).toBe("succeeded");
    }),
  );
});

const PATCH = { type: "custom", name: "apply_patch" };
const GIT = { type: "namespace", name: "git", description: "", tools: [] };
const input: Record<string, Json>[] = [
  { role: "developer", content: "One" },
  { role: "user", content: "Two" },
  { type: "custom_tool_call", call_id: "1", name: "apply_patch", input: "*" },
  { type: "custom_tool_call_output", call_id: "1", output: "done" },
];
const asked = { model: "ada/parrot", instructions: "Be brief.", input, tools: [PATCH, GIT] };

const patchTool = [{ type: "function", name: "apply_patch" }];

describe("a response", () => {
  it("a response has its tools as functions for a server with a responses endpoint", async () => {
    const server = await FakeServer.start({ "/v1/responses": json(200, { model: "served" }) });
    const { run } = await connect(server);
    expect((await run("responses", asked).outcome).finish).toMatchObject({ status: "succeeded" });
    const [body] = server.bodies("/v1/responses");
    const types = [{ type: "function_call" }, { type: "function_call_output" }];
    expect(body).toMatchObject({ tools: patchTool, input: [{}, {}, ...types] });
  });

  it("a response reaches a strict server without tools, and so do the other calls in every form", async () => {
    const done = [data(chunk("on")), DONE];
    const image = { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } };
    const messages = [
      { role: "user", content: "Hi" },
      { role: "system", content: "Be brief." },
    ];
    const auto = { tools: [], tool_choice: "auto", parallel_tool_calls: true };
    const cases: [OpenAiCall, Record<string, Json>][] = [
      ["chat_completions", { messages, ...auto, reasoning_effort: "none" }],
      ["chat_completions", { messages: [{ role: "developer", content: [image] }], ...auto }],
      ["responses", { input: "Hi", ...auto, reasoning: { effort: "xhigh" } }],
      ["messages", { messages, tools: [], tool_choice: { type: "auto" }, max_tokens: 9 }],
    ];
    for (const [call, body] of cases) {
      for (const stream of [true, false]) {
        const server = await FakeServer.start({ [CHAT]: events(done) });
        const { run } = await connect(server);
        const { finish } = await run(call, { model: "x", stream, ...body }).outcome;
        expect(finish).toMatchObject({ status: "succeeded" });
      }
    }
  });

  it("a response that demands a tool and has none is refused without asking the server", async () => {
    const server = await FakeServer.start();
    const { run } = await connect(server);
    const cases: [OpenAiCall, Record<string, Json>][] = [
      ["chat_completions", { messages: [], tools: [], tool_choice: "required" }],
      ["responses", { input: "Hi", tool_choice: { type: "function", name: "x" } }],
      ["messages", { messages: [], tool_choice: { type: "any" } }],
    ];
    for (const [call, body] of cases) {
      const { finish, inputRejected } = await run(call, body).outcome;
      const error = { param: "tool_choice" };
      expect(finish.error).toMatchObject({ detail: { status: 400, error } });
      expect(inputRejected).toBe(true);
    }
    expect(server.bodies(CHAT)).toEqual([]);
  });

  it("a response that becomes a chat is refused by the paths of the caller's fields", async () => {
    const error = (param: string) => ({ error: { message: `${param} is too long`, param } });
    for (const [theirs, callers] of [
      ["messages[0].content", "instructions.content"],
      ["messages[1].content", "input[1].content"],
      ["messages[2].tool_calls[0].function.arguments", "input[2].arguments"],
      ["tools[0].function.name", "tools[0].name"],
    ] as const) {
      const server = await FakeServer.start({ [CHAT]: json(400, error(theirs)) });
      const { run } = await connect(server);
      const { finish } = await run("responses", asked).outcome;
      expect(server.bodies(CHAT)).toHaveLength(1);
      const message = `${callers} is too long`;
      expect(finish.error).toMatchObject({
        message,
        detail: { error: { message, param: callers } },
      });
    }
  });
});

describe("an overflown context", () => {
  it.each([
    [400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"],
    [400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096."],
    [500, "the request exceeds the available context size, try increasing it"],
    [400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."],
    [422, "Input validation error: `inputs` must have less than 1024 tokens. Given: 2000"],
    [422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens"],
    [500, "input (600 tokens) is too large to process. increase the physical batch size"],
    [500, "input is too large to process. increase the physical batch size"],
    [400, "prompt too long; exceeded max context length by 4 tokens"],
  ])(
    "an overflown context that a server reports with %i is a 400 with a code: %s",
    async (status, message) => {
      const server = await FakeServer.start({ [CHAT]: json(status, { error: { message } }) });
      const { run } = await connect(server);
      const { finish } = await run("chat_completions", { model: "x", messages: [] }).outcome;
      const error = { message, code: "context_length_exceeded", type: "invalid_request_error" };
      expect(finish.error).toMatchObject({ detail: { status: 400, error } });
    },
  );
});
