import { describe, expect, it } from "vitest";
import { external } from "../../runner/src/containers/failure.ts";
import { DEFAULT_TIMING } from "../../runner/src/interfaces/interface.ts";
import { VendoraInterface } from "../../runner/src/interfaces/vendora.ts";
import {
  type Answer,
  chat,
  chunk,
  connect,
  DONE,
  data,
  events,
  FakeServer,
  json,
  until,
} from "./vendora-server.ts";

const CHAT = "/v1/chat/completions";
const completion = { object: "chat.completion", model: "served", choices: [] };
/** The server says that it goes on in another protocol, on the same connection. */
const switching: Answer = (response) =>
  void response.socket?.write(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
  );
const asking = { model: "ada/parrot:3", messages: [{ role: "user", content: "hi" }] };

describe("a server is ready", () => {
  const paths = (server: FakeServer) => [...new Set(server.asked.map(({ path }) => path))];

  it("when it says that it is well, however long it loads or hangs up", async () => {
    let looks = 0;
    const server = await FakeServer.start({
      "/health": (response) => {
        looks += 1;
        if (looks === 1) response.socket?.destroy();
        else if (looks < 4) json(503, { error: { message: "Loading model" } })(response, {});
        else response.writeHead(200).end();
      },
      [CHAT]: json(200, completion),
    });
    const { run } = await connect(server);
    expect(looks).toBe(4);
    await run("chat_completions", asking).outcome;
    expect(server.bodies(CHAT)).toEqual([{ ...asking, model: "served" }]);
  });

  it("when it lists its models, where it has no /health", async () => {
    const server = await FakeServer.start({ "/health": json(405, {}) });
    await connect(server);
    expect(paths(server)).toEqual(["/health", "/v1/models"]);
  });

  it.each([json(404, {}), json(200, { data: [] }), json(200, { data: "?" }), json(401, {})])(
    "when it does not say what its model is called, which it is then asked by any name",
    async (answer) => {
      const server = await FakeServer.start({
        "/v1/models": answer,
        [CHAT]: json(200, completion),
      });
      const { run } = await connect(server);
      await run("chat_completions", asking).outcome;
      expect(server.bodies(CHAT)).toEqual([asking]);
    },
  );

  it("not before it can list its models, when it has that", async () => {
    let looks = 0;
    const listed = json(200, { data: [{ id: "served" }] });
    const server = await FakeServer.start({
      "/v1/models": (response) => (++looks < 3 ? json(503, {}) : listed)(response, {}),
      [CHAT]: json(200, completion),
    });
    const { run } = await connect(server);
    await run("chat_completions", asking).outcome;
    expect(server.bodies(CHAT)).toMatchObject([{ model: "served" }]);
  });

  it("never, when it has neither", async () => {
    const server = await FakeServer.start({
      "/health": json(404, {}),
      "/v1/models": json(404, {}),
    });
    await expect(connect(server)).rejects.toThrow("neither /health nor /v1/models");
  });

  it.each([
    [307, "redirects are not followed"],
    [401, "200 is due"],
    [400, "200 is due"],
  ])("never, when it answers %i, which it is told", async (status, why) => {
    const server = await FakeServer.start({ "/health": json(status, {}) });
    const said = `the container answers /health with ${status}, where ${why}`;
    await expect(connect(server)).rejects.toThrow(said);
    server.answers["/health"] = json(404, {});
    server.answers["/v1/models"] = json(401, {});
    await expect(connect(server)).rejects.toThrow("answers /v1/models with 401");
  });

  it("never, when it speaks another protocol", async () => {
    const server = await FakeServer.start({ "/health": switching });
    await expect(connect(server)).rejects.toThrow("another protocol than HTTP");
  });

  it("later, when it says so; which statuses that were is told once", async () => {
    const statuses = [503, 503, 500, 503, 429, 408, 425, 204];
    const looks = [...statuses];
    const server = await FakeServer.start({
      "/health": (response) => void response.writeHead(looks.shift() ?? 200).end(),
    });
    const { told } = await connect(server);
    const lines = [503, 500, 429, 408, 425, 204];
    expect(told).toEqual(lines.map((status) => `[auspex] /health answers ${status}: waiting\n`));
  });

  it("never, when it ends or is stopped while it loads", async () => {
    const server = await FakeServer.start({ "/health": json(503, {}) });
    const [gone, stop] = [new AbortController(), new AbortController()];
    const connection = { address: server.address, token: "", maxConcurrency: 1, gone: gone.signal };
    const server_ = new VendoraInterface(DEFAULT_TIMING);
    const [ended, stopped] = [new AbortController().signal, stop.signal].map((signal) =>
      server_.connect(connection, () => {}, signal),
    );
    const told = Promise.allSettled([ended, stopped]);
    stop.abort("stopped");
    await expect(stopped).rejects.toBe("stopped");
    gone.abort(external("the container exited with code 1"));
    await expect(ended).rejects.toThrow("exited with code 1");
    await told;
  });
});

describe("a request", () => {
  const sent = async (call: "chat_completions" | "responses" | "embeddings", input: object) => {
    const ok = json(200, { model: "served" });
    const answers = { [CHAT]: ok, "/v1/responses": ok, "/v1/embeddings": ok };
    const server = await FakeServer.start(answers);
    const { run } = await connect(server);
    const { sink, outcome } = run(call, { model: "ada/parrot", ...input });
    expect((await outcome).finish).toMatchObject({ status: "succeeded", output: "value" });
    expect(sink.of("output")).toEqual([{ model: "ada/parrot" }]);
    return server.asked.slice(2);
  };

  it("goes where the call says, with all that the caller said, and the server's own name", async () => {
    const input = { input: ["a", "b"], encoding_format: "float", dimensions: 3, odd: { x: null } };
    expect(await sent("embeddings", input)).toEqual([
      { path: "/v1/embeddings", body: { ...input, model: "served" } },
    ]);
  });

  it("of a streamed chat asks for usage, beside what the caller asks for", async () => {
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
    const [{ body } = { body: {} }] = await sent("chat_completions", { stream: false });
    expect(body).toEqual({ model: "served", stream: false });
  });

  it("of a response leaves out what the service does itself", async () => {
    const input = { input: "hi", previous_response_id: "resp_1", background: true, store: true };
    const [{ path, body } = { path: "", body: {} }] = await sent("responses", input);
    expect(path).toBe("/v1/responses");
    expect(body).toEqual({ model: "served", input: "hi", store: false, stream: true });
    const [plain] = await sent("responses", { input: "hi", stream: null, background: false });
    expect(plain?.body).toEqual({ model: "served", input: "hi", store: false, stream: false });
  });

  it("is not made for a job that does not say by which call it was asked", async () => {
    const server = await FakeServer.start();
    const { run } = await connect(server);
    const { finish, container } = await run(null, {}).outcome;
    expect(finish).toMatchObject({ status: "failed", error: { source: "internal" } });
    expect(container).toBe("kept");
    expect(server.asked).toHaveLength(2);
  });
});

describe("an answer in one piece", () => {
  it("is one output", async () => {
    const { sink, finish } = await chat(json(200, completion), { stream: false });
    expect(sink.of("output")).toEqual([{ ...completion, model: "ada/parrot" }]);
    expect(finish).toMatchObject({ status: "succeeded", output: "value" });
  });

  it("is kept when it is a failed response, and the run has failed", async () => {
    const error = { code: "server_error", message: "no" };
    const response = { object: "response", status: "failed", model: "served", error };
    const server = await FakeServer.start({ "/v1/responses": json(200, response) });
    const { run } = await connect(server);
    const { sink, outcome } = run("responses", { input: "hi" });
    expect(await outcome).toMatchObject({
      finish: {
        status: "failed",
        output: "value",
        error: { source: "external", message: "no", detail: { status: 500, error } },
      },
      refused: false,
    });
    expect(sink.of("output")).toEqual([{ ...response, model: "ada/parrot" }]);
  });

  it.each(["in_progress", "queued", "cancelled"])(
    "fails the run when it is a response that is still %s",
    async (status) => {
      const response = { object: "response", status, model: "served", output: [] };
      const server = await FakeServer.start({ "/v1/responses": json(200, response) });
      const { run } = await connect(server);
      const { sink, outcome } = run("responses", { input: "hi" });
      const message = `the container answered with a response that is '${status}'`;
      expect(await outcome).toMatchObject({
        finish: { status: "failed", output: "none", error: { source: "external", message } },
        excused: false,
      });
      expect(sink.events).toEqual([]);
    },
  );

  it.each(["completed", "incomplete", null, undefined])(
    "may be a response that is %s",
    async (status) => {
      const response = { object: "response", status, output: [] };
      const server = await FakeServer.start({ "/v1/responses": json(200, response) });
      const { run } = await connect(server);
      expect((await run("responses", { input: "hi" }).outcome).finish.status).toBe("succeeded");
    },
  );

  it.each(["<html>", "[]", "", '"text"'])("fails the run when it is %j", async (text) => {
    const { sink, finish } = await chat((response) => void response.end(text));
    expect(sink.events).toEqual([]);
    expect(finish).toMatchObject({
      status: "failed",
      output: "none",
      error: { source: "external" },
    });
  });

  it("fails the run when it is an error, whatever its status", async () => {
    const error = { message: "no", type: "server_error", param: null, code: null };
    const { sink, finish } = await chat(json(200, { error }));
    expect(sink.events).toEqual([]);
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 500, error } } });
    expect((await chat(json(200, { ...completion, error: null }))).finish.status).toBe("succeeded");
  });

  it("may not be larger than an output", async () => {
    const { sink, finish } = await chat((response) => void response.end("x".repeat(100_001)));
    expect(sink.events).toEqual([]);
    expect(finish.error?.message).toBe("the container's answer is larger than 100000 bytes");
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
    // vLLM
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
    // TGI, TEI
    [422, { error: "no", error_type: "validation" }, { type: "validation" }],
    [413, { message: "no", code: 413, type: "Validation" }, { type: "Validation" }],
    // FastAPI
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
    [503, "", { type: "server_error", message: "the container answered 503" }],
    [429, null, { ...bad, message: "null" }],
  ])("%i %j is told in the convention's words", async (status, body, told) => {
    const text = typeof body === "string" ? body : JSON.stringify(body);
    const { sink, finish, container, refused } = await chat(
      (response) => void response.writeHead(status).end(text),
    );
    const error = own(told);
    expect(sink.events).toEqual([]);
    expect(finish).toMatchObject({
      status: "failed",
      output: "none",
      error: { source: "external", message: error.message, detail: { status, error } },
    });
    expect(finish.error?.detail).toEqual({ status, error });
    expect(container).toBe("kept");
    expect(refused).toBe(status < 500);
  });

  it("says nothing against a server that is well", async () => {
    const error = json(500, { error: { message: "no such grammar" } });
    const server = await FakeServer.start({ [CHAT]: error });
    const { run } = await connect(server);
    const ask = () => run("chat_completions", asking).outcome;
    expect(await ask()).toMatchObject({ refused: false, excused: true });
    server.answers[CHAT] = events([data(chunk("a")), data({ error: "no such grammar" })]);
    expect(await ask()).toMatchObject({ refused: false, excused: true });
    server.answers["/health"] = json(503, {});
    expect(await ask()).toMatchObject({ refused: false, excused: false });
  });

  it.each<[string, Answer]>([
    ["that breaks off", (response) => void response.socket?.destroy()],
    ["without its end", events([data(chunk("a"))])],
    ["that is none", json(200, [])],
    ["in no JSON", events(["data: <html>\n\n"])],
  ])("counts against it as an answer %s", async (_, answer) => {
    expect(await chat(answer)).toMatchObject({ finish: { status: "failed" }, excused: false });
  });

  it("is what another protocol is", async () => {
    const { finish, container, excused } = await chat(switching);
    const message = "the container answered in another protocol than HTTP";
    expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
    expect([container, excused]).toEqual(["kept", false]);
  });

  it("is cut where it is too long for a prediction", async () => {
    const { finish } = await chat(
      (response) => void response.writeHead(500).end("x".repeat(5_000)),
    );
    expect(finish.error?.message).toHaveLength(2_000);
  });
});

describe("a response that the server has no endpoint for", () => {
  const asked = { model: "ada/parrot", instructions: "be brief", input: "hi", stream: true };
  const streamed = events([data(chunk("a")), DONE]);

  it.each([
    [404, { detail: "Not Found" }],
    [404, { error: { code: 404, message: "File Not Found", type: "not_found_error" } }],
    [404, ""],
    [405, { detail: "Method Not Allowed" }],
    [501, { error: { message: "not supported" } }],
  ])("is asked as a chat, at once the next time: %i %j", async (status, body) => {
    const server = await FakeServer.start({
      "/v1/responses": json(status, body),
      [CHAT]: streamed,
    });
    const { run } = await connect(server);
    for (const _ of [1, 2]) {
      const { sink, outcome } = run("responses", asked);
      expect((await outcome).finish).toMatchObject({ status: "succeeded", output: "items" });
      expect(sink.of("output")).toEqual([chunk("a", { model: "ada/parrot" })]);
    }
    expect(server.bodies("/v1/responses")).toHaveLength(1);
    expect(server.bodies(CHAT)).toHaveLength(2);
    expect(server.bodies(CHAT)[0]).toMatchObject({
      model: "served",
      messages: [
        { role: "system", content: "be brief" },
        { role: "user", content: "hi" },
      ],
      stream: true,
      stream_options: { include_usage: true },
    });
  });

  it.each([
    ["v1", { error: { message: "Invalid URL (POST /v1/responses)" } }],
    ["responses", { error: { message: "Invalid URL (POST /v1/responses)" } }],
    ["Not", { detail: "Not Found" }],
  ])("is asked as a chat also when the model is called %s", async (id, body) => {
    const server = await FakeServer.start({
      "/v1/models": json(200, { data: [{ id }] }),
      "/v1/responses": json(404, body),
      [CHAT]: streamed,
    });
    const { run } = await connect(server);
    expect(await run("responses", asked).outcome).toMatchObject({
      finish: { status: "succeeded" },
    });
  });

  it.each([
    { error: { message: "The model `served` does not exist.", type: "NotFoundError", code: 404 } },
    { error: { message: "model 'served' not found" } },
    { detail: 'no "served" here' },
    { error: { message: "not here", param: "model" } },
    { error: { message: "not here", code: "model_not_found" } },
  ])("is not taken for one whose model is unknown: %j", async (body) => {
    const server = await FakeServer.start({ "/v1/responses": json(404, body), [CHAT]: streamed });
    const { run } = await connect(server);
    const { finish, refused } = await run("responses", asked).outcome;
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 404 } } });
    expect(refused).toBe(true);
    expect(server.bodies(CHAT)).toEqual([]);
  });

  it("is refused where a chat cannot be asked for it", async () => {
    const server = await FakeServer.start({ [CHAT]: streamed });
    const { run } = await connect(server);
    const input = [{ type: "item_reference", id: "msg_1" }];
    const { finish, refused } = await run("responses", { ...asked, input }).outcome;
    const detail = { status: 400, error: { param: "input[0]" } };
    expect(finish).toMatchObject({ status: "failed", error: { detail } });
    expect(refused).toBe(true);
    expect(server.bodies(CHAT)).toEqual([]);
  });
});

describe("several runs", () => {
  const echo: Answer = (response, { user, stream }) => {
    if (user === "bad") return json(400, { error: { message: "bad" } })(response, {});
    if (user === "broken") return void response.socket?.destroy();
    const said = chunk(`${user}`);
    if (!stream) return json(200, said)(response, {});
    events(Array(20).fill(data(said)).concat(DONE))(response, {});
  };

  it("go on side by side, whatever becomes of others", async () => {
    const server = await FakeServer.start({ [CHAT]: echo });
    const { run } = await connect(server);
    const runs = Array.from({ length: 32 }, (_, n) => {
      const user = n % 8 === 1 ? "bad" : n % 8 === 2 ? "broken" : `user ${n}`;
      return { user, ...run("chat_completions", { ...asking, user, stream: n % 2 === 0 }) };
    });
    for (const { user, sink, outcome } of runs) {
      const { finish, container } = await outcome;
      const failed = user === "bad" || user === "broken";
      expect(finish.status).toBe(failed ? "failed" : "succeeded");
      expect(container).toBe("kept");
      if (failed) expect(sink.events).toEqual([]);
      for (const output of sink.of("output")) {
        expect(output).toEqual(chunk(user, { model: "ada/parrot" }));
      }
    }
    expect(server.bodies(CHAT)).toHaveLength(32);
    await until(() => server.open === 0);
  });

  it("are all at work at once", async () => {
    const server = await FakeServer.start({ [CHAT]: () => {} });
    const { run, end } = await connect(server);
    const runs = Array.from({ length: 32 }, () => run("chat_completions", asking));
    await until(() => server.open === 32);
    end(external("the container exited with code 1"));
    for (const { outcome } of runs) expect((await outcome).container).toBe("retired");
  });
});

describe("a container that dies", () => {
  const dead = external("the container exited with code 139:\nsegmentation fault");

  it("fails its runs with its own last words, wherever they were", async () => {
    const server = await FakeServer.start({
      [CHAT]: (response, { stream }) => {
        if (stream) events([data(chunk("a"))], false)(response, {});
      },
    });
    const { run, end } = await connect(server, { exitNotice: 5_000 });
    const silent = run("chat_completions", asking);
    const streaming = run("chat_completions", { ...asking, stream: true });
    await streaming.sink.first("output");
    await until(() => server.open === 2);
    // The connections break first.
    server.stop();
    await until(() => server.open === 0);
    end(dead);
    for (const [{ outcome }, output] of [
      [silent, "none"],
      [streaming, "items"],
    ] as const) {
      const { finish, container } = await outcome;
      expect(finish).toMatchObject({ status: "failed", output, error: { message: dead.message } });
      expect(container).toBe("retired");
    }
  });

  it("is not waited for where it lives on", async () => {
    const { finish, container, refused } = await chat(
      (response) => void response.socket?.destroy(),
    );
    const message = expect.stringContaining("the container broke off");
    expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
    expect(container).toBe("kept");
    expect(refused).toBe(false);
  });

  it("is asked on a connection of its own, which the server cannot have given up", async () => {
    const { sink } = await chat((response) =>
      json(200, { connection: response.req.headers.connection ?? "" })(response, {}),
    );
    expect(sink.of("output")).toEqual([{ connection: "close" }]);
  });

  it("is asked once: what may have begun is not asked for again", async () => {
    const { server } = await chat((response) => void response.socket?.destroy());
    expect(server.bodies(CHAT)).toHaveLength(1);
  });
});
