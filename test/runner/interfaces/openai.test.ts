/** Servers without a responses endpoint, several runs at once, and servers that die. */
import { describe, expect, it } from "vitest";
import { external } from "../../../src/run/failure.ts";
import {
  type Answer,
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
  until,
} from "../support/openai-server.ts";

describe("a response that the server has no endpoint for", () => {
  const asked = { model: "ada/parrot", instructions: "be brief", input: "hi", stream: true };
  const streamed = events([data(chunk("a")), DONE]);

  it.each([
    [404, { detail: "Not Found" }],
    [404, { error: { code: 404, message: "File Not Found", type: "not_found_error" } }],
    [404, ""],
    [405, { detail: "Method Not Allowed" }],
    [501, { error: { message: "not supported" } }],
  ])("a response is requested as a chat, at once the next time: %i %j", async (status, body) => {
    const server = await FakeServer.start({
      "/v1/responses": json(status, body),
      [CHAT]: streamed,
    });
    const { run } = await connect(server);
    for (const _ of [1, 2]) {
      const { reporter, outcome } = run("responses", asked);
      expect((await outcome).finish).toMatchObject({ status: "succeeded", output: "items" });
      expect(reporter.of("output")).toEqual([chunk("a", { model: "ada/parrot" })]);
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
  ])("a response is requested as a chat also when the model is called %s", async (id, body) => {
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
  ])("a response with an unknown model is not requested as a chat: %j", async (body) => {
    const server = await FakeServer.start({ "/v1/responses": json(404, body), [CHAT]: streamed });
    const { run } = await connect(server);
    const { finish, inputRejected } = await run("responses", asked).outcome;
    expect(finish).toMatchObject({ status: "failed", error: { detail: { status: 404 } } });
    expect(inputRejected).toBe(true);
    expect(server.bodies(CHAT)).toEqual([]);
  });

  it("a response that a chat cannot express is refused", async () => {
    const server = await FakeServer.start({ [CHAT]: streamed });
    const { run } = await connect(server);
    const input = [{ type: "item_reference", id: "msg_1" }];
    const { finish, inputRejected } = await run("responses", { ...asked, input }).outcome;
    const detail = { status: 400, error: { param: "input[0]" } };
    expect(finish).toMatchObject({ status: "failed", error: { detail } });
    expect(inputRejected).toBe(true);
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

  it("several runs go on side by side, whatever happens to the others", async () => {
    const server = await FakeServer.start({ [CHAT]: echo });
    const { run } = await connect(server);
    const runs = Array.from({ length: 32 }, (_, n) => {
      const user = n % 8 === 1 ? "bad" : n % 8 === 2 ? "broken" : `user ${n}`;
      return { user, ...run("chat_completions", { ...asking, user, stream: n % 2 === 0 }) };
    });
    for (const { user, reporter, outcome } of runs) {
      const { finish, container } = await outcome;
      const failed = user === "bad" || user === "broken";
      expect(finish.status).toBe(failed ? "failed" : "succeeded");
      expect(container).toBe("kept");
      if (failed) expect(reporter.events).toEqual([]);
      const said = JSON.stringify(reporter.of("output"));
      // The output has the word twenty times, in pieces or in one.
      expect(said.split(user)).toHaveLength(failed ? 1 : 21);
      if (!failed) expect(said.match(/user \d+/g)).toEqual(Array(20).fill(user));
    }
    expect(server.bodies(CHAT)).toHaveLength(32);
    await until(() => server.open === 0);
  });

  it("several runs are all at work at once", async () => {
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
  const message = "The container exited with code 139:\nsegmentation fault";

  it("a container that dies fails its runs with its last output, wherever they were", async () => {
    const server = await FakeServer.start({
      [CHAT]: (response, { stream }) => {
        if (stream) events([data(chunk("a"))], false)(response, {});
      },
    });
    const { run, end } = await connect(server, { exitNoticeMs: 5_000 });
    const silent = run("chat_completions", asking);
    const streaming = run("chat_completions", { ...asking, stream: true });
    await streaming.reporter.first("output");
    await until(() => server.open === 2);
    // The connections break before the container ends.
    server.stop();
    await until(() => server.open === 0);
    end(dead);
    for (const [{ outcome }, output] of [
      [silent, "none"],
      [streaming, "items"],
    ] as const) {
      const { finish, container } = await outcome;
      expect(finish).toMatchObject({ status: "failed", output, error: { message } });
      expect(container).toBe("retired");
    }
  });

  it("a container that lives on after a broken connection is not waited for", async () => {
    const { finish, container, inputRejected } = await chat(
      (response) => void response.socket?.destroy(),
    );
    const message = expect.stringContaining("The connection to the container was lost");
    expect(finish).toMatchObject({ status: "failed", error: { source: "external", message } });
    expect(container).toBe("kept");
    expect(inputRejected).toBe(false);
  });

  it("each request has a connection of its own, so that the server cannot have closed it before", async () => {
    const { reporter } = await chat((response) =>
      json(200, { connection: response.req.headers.connection ?? "" })(response, {}),
    );
    expect(reporter.of("output")).toEqual([{ connection: "close" }]);
  });

  it("a request is made only once, because the server may have begun it", async () => {
    const { server } = await chat((response) => void response.socket?.destroy());
    expect(server.bodies(CHAT)).toHaveLength(1);
  });
});
