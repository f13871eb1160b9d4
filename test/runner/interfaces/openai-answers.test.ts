/** Requests to OpenAI servers, and what their answers and errors become. */
import { describe, expect, it } from "vitest";
import {
  type Answer,
  asking,
  CHAT,
  chat,
  chunk,
  completion,
  connect,
  data,
  events,
  FakeServer,
  json,
  switching,
} from "../support/openai-server.ts";

describe("a request", () => {
  const sent = async (call: "chat_completions" | "responses" | "embeddings", input: object) => {
    const ok = json(200, { model: "served" });
    const answers = { [CHAT]: ok, "/v1/responses": ok, "/v1/embeddings": ok };
    const server = await FakeServer.start(answers);
    const { run } = await connect(server);
    const { reporter, outcome } = run(call, { model: "ada/parrot", ...input });
    expect((await outcome).finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(reporter.of("output")).toEqual([{ model: "ada/parrot" }]);
    return server.asked.slice(2);
  };

  it("a request goes to the path of its call, with all of the caller's fields and the server's model name", async () => {
    const input = { input: ["a", "b"], encoding_format: "float", dimensions: 3, odd: { x: null } };
    const requests = await sent("embeddings", input);
    expect(requests.map(({ path, body }) => [path, body])).toEqual([
      ["/v1/embeddings", { ...input, model: "served" }],
    ]);
  });

  it("a request for a streamed chat asks for usage, in addition to the caller's options", async () => {
    const usage = { include_usage: true };
    for (const [given, options] of [
      [undefined, usage],
      [null, usage],
      [
        { include_usage: false, more: 1 },
        { more: 1, ...usage },
      ],
    ]) {
      const input = { stream: true, ...(given === undefined ? {} : { stream_options: given }) };
      const [{ body } = { body: {} }] = await sent("chat_completions", input);
      expect(body).toEqual({ model: "served", stream: true, stream_options: options });
    }
  });

  it("a request is for a stream even if the caller wants one piece, so that a disconnect is noticed", async () => {
    for (const given of [{ stream: false }, { stream: null }, {}]) {
      const [{ body } = { body: {} }] = await sent("chat_completions", given);
      const usage = { include_usage: true };
      expect(body).toEqual({ model: "served", stream: true, stream_options: usage });
    }
  });

  it("a request for a response leaves out the fields that the service handles itself", async () => {
    const input = { input: "hi", previous_response_id: "resp_1", background: true, store: true };
    const [{ path, body } = { path: "", body: {} }] = await sent("responses", input);
    expect(path).toBe("/v1/responses");
    expect(body).toEqual({ model: "served", input: "hi", store: false, stream: true });
    const [plain] = await sent("responses", { input: "hi", stream: null, background: false });
    expect(plain?.body).toEqual({ model: "served", input: "hi", store: false, stream: true });
  });

  it("a request without a call in its job fails as internal", async () => {
    const server = await FakeServer.start();
    const { run } = await connect(server);
    const { finish, container } = await run(null, {}).outcome;
    expect(finish).toMatchObject({ status: "failed", error: { source: "internal" } });
    expect(container).toBe("kept");
    expect(server.asked).toHaveLength(2);
  });
});

describe("an answer in one piece", () => {
  it("an answer in one piece is one output", async () => {
    const { reporter, finish } = await chat(json(200, completion), { stream: false });
    expect(reporter.of("output")).toEqual([{ ...completion, model: "ada/parrot" }]);
    expect(finish).toMatchObject({ status: "succeeded", output: "value" });
  });

  it("an answer that is a failed response is kept, and the run has failed", async () => {
    const error = { code: "server_error", message: "no" };
    const response = { object: "response", status: "failed", model: "served", error };
    const server = await FakeServer.start({ "/v1/responses": json(200, response) });
    const { run } = await connect(server);
    const { reporter, outcome } = run("responses", { input: "hi" });
    expect(await outcome).toMatchObject({
      finish: {
        status: "failed",
        output: "value",
        error: { source: "external", message: "no", detail: { status: 500, error } },
      },
      inputRejected: false,
    });
    expect(reporter.of("output")).toEqual([{ ...response, model: "ada/parrot" }]);
  });

  it.each(["in_progress", "queued", "cancelled"])(
    "an answer that is a response with status %s fails the run",
    async (status) => {
      const response = { object: "response", status, model: "served", output: [] };
      const server = await FakeServer.start({ "/v1/responses": json(200, response) });
      const { run } = await connect(server);
      const { reporter, outcome } = run("responses", { input: "hi" });
      const message = `The container returned a response with the status '${status}'.`;
      expect(await outcome).toMatchObject({
        finish: { status: "failed", output: "none", error: { source: "external", message } },
        notContainersFault: false,
      });
      expect(reporter.events).toEqual([]);
    },
  );

  it.each(["completed", "incomplete", null, undefined])(
    "an answer may be a response with status %s",
    async (status) => {
      const response = { object: "response", status, output: [] };
      const server = await FakeServer.start({ "/v1/responses": json(200, response) });
      const { run } = await connect(server);
      expect((await run("responses", { input: "hi" }).outcome).finish.status).toBe("succeeded");
    },
  );

  it.each(["<html>", "[]", "", '"text"'])("an answer %j fails the run", async (text) => {
    const { reporter, finish } = await chat((response) => void response.end(text));
    expect(reporter.events).toEqual([]);
    expect(finish).toMatchObject({
      status: "failed",
      output: "none",
      error: { source: "external" },
    });
  });

  it("an answer that is an error fails the run, whatever its status", async () => {
    const error = { message: "no", type: "server_error", param: null, code: null };
    const { reporter, finish } = await chat(json(200, { error }));
    expect(reporter.events).toEqual([]);
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 500, error } } });
    expect((await chat(json(200, { ...completion, error: null }))).finish.status).toBe("succeeded");
  });

  it("an answer may not be larger than an output", async () => {
    const { reporter, finish } = await chat((response) => void response.end("x".repeat(100_001)));
    expect(reporter.events).toEqual([]);
    expect(finish.error?.message).toBe("The container's response is larger than 100000 bytes.");
  });
});

describe("an error", () => {
  const own = (error: object) => ({ message: "no", param: null, code: null, ...error });
  const bad = { type: "invalid_request_error" };

  it.each<[number, unknown, object]>([
    [
      400,
      { error: { message: "no", type: "t", param: "p", code: "c" } },
      { type: "t", param: "p", code: "c" },
    ],
    // Error body of vLLM.
    [
      400,
      { error: { message: "no", type: "BadRequestError", param: null, code: 400 } },
      { type: "BadRequestError" },
    ],
    [
      400,
      { object: "error", message: "no", type: "BadRequestError", code: 400 },
      { type: "BadRequestError" },
    ],
    // Error bodies of TGI and TEI.
    [422, { error: "no", error_type: "validation" }, { type: "validation" }],
    [413, { message: "no", code: 413, type: "Validation" }, { type: "Validation" }],
    // Error body of FastAPI.
    [405, { detail: "no" }, bad],
    [
      422,
      { detail: [{ loc: ["body", "n", 0], msg: "too big", type: "x" }] },
      { ...bad, message: "body.n.0: too big" },
    ],
    [502, "no", { type: "server_error" }],
    [
      500,
      { error: { message: { odd: 1 } } },
      { type: "server_error", message: '{"error":{"message":{"odd":1}}}' },
    ],
    [503, "", { type: "server_error", message: "The container responded with 503." }],
    [429, null, { ...bad, message: "null" }],
  ])("the error %i %j is converted to OpenAI's form", async (status, body, told) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const { reporter, finish, container, inputRejected } = await chat(
      (response) => void response.writeHead(status).end(text),
    );
    const error = own(told);
    expect(reporter.events).toEqual([]);
    expect(finish).toMatchObject({
      status: "failed",
      output: "none",
      error: { source: "external", message: error.message, detail: { status, error } },
    });
    expect(finish.error?.detail).toEqual({ status, error });
    expect(container).toBe("kept");
    expect(inputRejected).toBe(status < 500);
  });

  it("an error of a healthy server does not count against it", async () => {
    const error = json(500, { error: { message: "no such grammar" } });
    const server = await FakeServer.start({ [CHAT]: error });
    const { run } = await connect(server);
    const ask = () => run("chat_completions", asking).outcome;
    expect(await ask()).toMatchObject({ inputRejected: false, notContainersFault: true });
    server.answers[CHAT] = events([data(chunk("a")), data({ error: "no such grammar" })]);
    expect(await ask()).toMatchObject({ inputRejected: false, notContainersFault: true });
    server.answers["/health"] = json(503, {});
    expect(await ask()).toMatchObject({ inputRejected: false, notContainersFault: false });
  });

  it.each<[string, Answer]>([
    ["that breaks off", (response) => void response.socket?.destroy()],
    ["without its end", events([data(chunk("a"))])],
    ["that is none", json(200, [])],
    ["in no JSON", events(["data: <html>\n\n"])],
  ])("an error counts against a server that answers %s", async (_, answer) => {
    expect(await chat(answer)).toMatchObject({
      finish: { status: "failed" },
      notContainersFault: false,
    });
  });

  const raw =
    (text: string, type = "application/json"): Answer =>
    (response) =>
      void response.writeHead(200, { "content-type": type }).end(text);

  it.each<[string, Answer]>([
    ["in one piece", raw("[".repeat(90_000))],
    [
      "in one event",
      raw(`data: {"a":${"[".repeat(200)}${"]".repeat(200)}}\n\n`, "text/event-stream"),
    ],
  ])("an error is returned for an answer that is nested too deep, %s", async (_, answer) => {
    const { finish } = await chat(answer);
    const message = "The container's response has more than 128 levels of nesting.";
    expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
  });

  it("an error is returned for an answer in another protocol", async () => {
    const { finish, container, notContainersFault } = await chat(switching);
    const message = "The container did not respond with HTTP.";
    expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
    expect([container, notContainersFault]).toEqual(["kept", false]);
  });

  it("an error that is too long for a prediction is cut", async () => {
    const { finish } = await chat(
      (response) => void response.writeHead(500).end("x".repeat(5_000)),
    );
    expect(finish.error?.message).toHaveLength(2_000);
  });
});
