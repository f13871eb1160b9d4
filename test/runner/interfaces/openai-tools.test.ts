/** Requests to servers without the callers' kinds of tools, and refusals in terms of the callers' fields. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import type { OpenAiCall } from "../../../src/protocol/runner.ts";
import {
  CHAT,
  chunk,
  connect,
  DONE,
  data,
  events,
  FakeServer,
  json,
} from "../support/openai-server.ts";

const PATCH = { type: "custom", name: "apply_patch" };
const GIT = { type: "namespace", name: "git", description: "", tools: [] };
const input: Record<string, Json>[] = [
  { role: "developer", content: "One" },
  { role: "user", content: "Two" },
  { type: "custom_tool_call", call_id: "1", name: "apply_patch", input: "*" },
  { type: "custom_tool_call_output", call_id: "1", output: "done" },
];
const asked = { model: "ada/parrot", instructions: "Be brief.", input, tools: [PATCH, GIT] };

const named = [{ type: "function", name: "apply_patch" }];

describe("a response", () => {
  it("a response has its tools as functions for a server with a responses endpoint", async () => {
    const server = await FakeServer.start({ "/v1/responses": json(200, { model: "served" }) });
    const { run } = await connect(server);
    expect((await run("responses", asked).outcome).finish).toMatchObject({ status: "succeeded" });
    const [body] = server.bodies("/v1/responses");
    const types = [{ type: "function_call" }, { type: "function_call_output" }];
    expect(body).toMatchObject({ tools: named, input: [{}, {}, ...types] });
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
