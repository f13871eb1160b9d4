/** Messages calls to a server that has the messages API itself, and to one that only chats. */
import { describe, expect, it } from "vitest";
import type { Json } from "../../../src/protocol/common.ts";
import {
  type Answer,
  CHAT,
  chunk,
  connect,
  DONE,
  data,
  events,
  FakeServer,
  json,
} from "../support/openai-server.ts";

const MESSAGES = "/v1/messages";
const COUNT = "/v1/messages/count_tokens";

const asked: Record<string, Json> = {
  model: "ada/parrot:3",
  max_tokens: 9,
  system: "Be brief.",
  messages: [{ role: "user", content: "hi" }],
};

const event = (type: string, more: object = {}) => `event: ${type}\n${data({ type, ...more })}`;
const head = { id: "msg_1", type: "message", role: "assistant", model: "served", content: [] };
const STREAM = [
  event("message_start", { message: { ...head, usage: { input_tokens: 3, output_tokens: 0 } } }),
  event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  event("ping"),
  event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "He" } }),
  event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "llo" } }),
  event("content_block_stop", { index: 0 }),
  event("message_delta", {
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { output_tokens: 2 },
  }),
  event("message_stop"),
];

async function ask(answers: Record<string, Answer>, more: Record<string, Json> = {}) {
  const server = await FakeServer.start(answers);
  const { run } = await connect(server);
  const { reporter, outcome } = run("messages", { ...asked, ...more });
  return { server, run, reporter, ...(await outcome) };
}

describe("a server that has messages", () => {
  it("a server with messages gets an image as the caller has sent it", async () => {
    const image = (source: Json) => [{ role: "user", content: [{ type: "image", source }] }];
    const messages = image({ type: "url", url: "data:image/png;base64,AAAA" });
    const { server } = await ask({ [MESSAGES]: events(STREAM) }, { messages });
    expect(server.bodies(MESSAGES)[0]?.messages).toEqual(
      image({ type: "base64", media_type: "image/png", data: "AAAA" }),
    );
  });

  it("a server with messages gets a level of effort that chat templates know", async () => {
    const output_config = { effort: "xhigh", format: { type: "json_schema", schema: {} } };
    const { server } = await ask({ [MESSAGES]: events(STREAM) }, { output_config });
    const sent = server.bodies(MESSAGES)[0]?.output_config;
    expect(sent).toEqual({ ...output_config, effort: "high" });
  });

  it("a server with messages gets the caller's request, with its own model name", async () => {
    const { server, finish, reporter } = await ask(
      { [MESSAGES]: events(STREAM) },
      { stream: true },
    );
    expect(finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(server.bodies(MESSAGES)).toEqual([{ ...asked, model: "served", stream: true }]);
    expect(server.bodies(CHAT)).toEqual([]);
    const outputs = reporter.of("output");
    expect(outputs).toHaveLength(STREAM.length - 1);
    expect(outputs[0]).toMatchObject({ message: { model: "ada/parrot" } });
    expect(outputs.at(-1)).toEqual({ type: "message_stop" });
  });

  it("a server with messages streams even for a caller who wants it whole, so that a disconnect is noticed", async () => {
    const { server, finish, reporter } = await ask({ [MESSAGES]: events(STREAM) });
    expect(server.bodies(MESSAGES)).toMatchObject([{ stream: true }]);
    expect(finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(reporter.of("output")).toMatchObject([
      {
        ...head,
        model: "ada/parrot",
        content: [{ type: "text", text: "Hello" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 3, output_tokens: 2 },
      },
    ]);
  });

  it("a server with messages may answer with a whole message", async () => {
    const message = { ...head, content: [{ type: "text", text: "Hello" }] };
    const { finish, reporter } = await ask({ [MESSAGES]: json(200, message) });
    expect(finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(reporter.of("output")).toEqual([{ ...message, model: "ada/parrot" }]);
  });

  it.each([
    ["overloaded_error", 503],
    ["rate_limit_error", 429],
    ["api_error", 500],
  ])(
    "a server with messages fails inside its stream with %s, which is %i",
    async (type, status) => {
      const failing = event("error", { error: { type, message: "no" } });
      for (const stream of [true, false]) {
        const pieces = [...STREAM.slice(0, 2), failing];
        const { finish } = await ask({ [MESSAGES]: events(pieces) }, { stream });
        expect(finish).toMatchObject({
          status: "failed",
          error: { message: "no", detail: { status, error: { type } } },
        });
      }
    },
  );

  it("a server with messages has not ended before its last event", async () => {
    const { finish } = await ask({ [MESSAGES]: events([...STREAM.slice(0, -1), DONE]) });
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 502 } } });
  });

  it("a server with messages can refuse the request", async () => {
    const error = { type: "invalid_request_error", message: "max_tokens: too many" };
    const { finish, inputRejected } = await ask({
      [MESSAGES]: json(400, { type: "error", error }),
    });
    expect(inputRejected).toBe(true);
    expect(finish.error).toMatchObject({ message: error.message, detail: { status: 400, error } });
  });

  it("a server with messages that does not know the model is not asked for a chat", async () => {
    const error = { message: "The model `served` does not exist.", type: "NotFoundError" };
    const { server, finish } = await ask({ [MESSAGES]: json(404, { error }) });
    expect(server.bodies(CHAT)).toEqual([]);
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 404 } } });
  });
});

describe("a server that only chats", () => {
  const usage = { choices: [], usage: { prompt_tokens: 5, completion_tokens: 1 } };
  const chats = events([data(chunk("Hello")), data(usage), DONE]);

  it("a server that only chats is asked for a chat, and only for that from then on", async () => {
    const { server, run, finish, reporter } = await ask({ [CHAT]: chats }, { stream: true });
    expect(finish).toMatchObject({ status: "succeeded", output: "items" });
    expect(reporter.of("output")).toMatchObject([{ choices: [{}] }, usage]);
    expect((await run("messages", asked).outcome).finish).toMatchObject({ output: "value" });
    expect(server.bodies(MESSAGES)).toHaveLength(1);
    const messages = [
      { role: "system", content: "Be brief." },
      { role: "user", content: "hi" },
    ];
    const chat = { model: "served", max_tokens: 9, messages, stream: true };
    const options = { stream_options: { include_usage: true } };
    expect(server.bodies(CHAT)).toEqual([
      { ...chat, ...options },
      { ...chat, ...options },
    ]);
  });

  it("a server that only chats refuses by the paths of the caller's fields", async () => {
    const error = { message: "messages[1].content is too long", param: "messages[1].content" };
    const { finish } = await ask({ [CHAT]: json(400, { error }) });
    expect(finish.error).toMatchObject({ message: "messages.0.content is too long" });
  });

  it("a server that only chats is not asked for fields that a chat cannot express", async () => {
    const messages = [{ role: "user", content: [{ type: "container_upload", file_id: "f" }] }];
    const { server, finish, inputRejected } = await ask({ [CHAT]: chats }, { messages });
    expect(server.bodies(CHAT)).toEqual([]);
    expect(inputRejected).toBe(true);
    expect(finish.error).toMatchObject({
      message: expect.stringMatching(/^messages\.0\.content\.0: .*container_upload/),
      detail: { status: 400 },
    });
  });
});

describe("counting tokens", () => {
  const count = async (answers: Record<string, Answer>) => {
    const server = await FakeServer.start(answers);
    const { run } = await connect(server);
    const counted = async () => {
      const { reporter, outcome } = run("count_tokens", asked);
      expect((await outcome).finish).toMatchObject({ status: "succeeded", output: "value" });
      return reporter.of("output");
    };
    return { server, counted };
  };

  it("token counting is the server's work, if it can count", async () => {
    const { server, counted } = await count({ [COUNT]: json(200, { input_tokens: 42 }) });
    expect(await counted()).toEqual([{ input_tokens: 42 }]);
    expect(server.bodies(COUNT)).toEqual([{ ...asked, model: "served" }]);
  });

  it("token counting is an estimate, if the server cannot count", async () => {
    const { server, counted } = await count({});
    expect(await counted()).toEqual([{ input_tokens: 4 }]);
    expect(await counted()).toEqual([{ input_tokens: 4 }]);
    expect(server.bodies(COUNT)).toHaveLength(1);
  });
});
