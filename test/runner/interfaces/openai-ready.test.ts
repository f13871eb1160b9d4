/** Readiness of OpenAI servers, and servers that never become ready. */
import { describe, expect, it } from "vitest";
import { DEFAULT_TIMING } from "../../../runner/src/interfaces/interface.ts";
import { OpenAiInterface } from "../../../runner/src/interfaces/openai/openai.ts";
import { external } from "../../../src/run/failure.ts";
import {
  asking,
  CHAT,
  completion,
  connect,
  FakeServer,
  json,
  switching,
} from "../support/openai-server.ts";

describe("a server is ready", () => {
  const paths = (server: FakeServer) => [...new Set(server.asked.map(({ path }) => path))];

  it("a server is ready when it reports that it is healthy, however long it loads or hangs up", async () => {
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
    expect(server.bodies(CHAT)).toMatchObject([{ ...asking, model: "served" }]);
  });

  it("a server without /health is ready when it lists its models", async () => {
    const server = await FakeServer.start({ "/health": json(405, {}) });
    await connect(server);
    expect(paths(server)).toEqual(["/health", "/v1/models"]);
  });

  it.each([json(404, {}), json(200, { data: [] }), json(200, { data: "?" }), json(401, {})])(
    "a server is ready without the name of its model, and then gets any name",
    async (answer) => {
      const server = await FakeServer.start({
        "/v1/models": answer,
        [CHAT]: json(200, completion),
      });
      const { run } = await connect(server);
      await run("chat_completions", asking).outcome;
      expect(server.bodies(CHAT)).toMatchObject([asking]);
    },
  );

  it("a server is not ready before it can list its models, if it has that", async () => {
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

  it("a server is never ready when it has neither health nor models", async () => {
    const server = await FakeServer.start({
      "/health": json(404, {}),
      "/v1/models": json(404, {}),
    });
    await expect(connect(server)).rejects.toThrow("neither /health nor /v1/models");
  });

  it.each([
    [307, ": redirects are not followed"],
    [401, " instead of 200. It requires an API key"],
    [400, ": expected 200"],
  ])("a server is never ready when it answers %i, and the error says why", async (status, why) => {
    const server = await FakeServer.start({ "/health": json(status, {}) });
    const said = `the container responded to /health with ${status}${why}`;
    await expect(connect(server)).rejects.toThrow(said);
    server.answers["/health"] = json(404, {});
    server.answers["/v1/models"] = json(401, {});
    await expect(connect(server)).rejects.toThrow(
      "responded to /v1/models with 401 instead of 200",
    );
  });

  it("a server is never ready when it speaks another protocol", async () => {
    const server = await FakeServer.start({ "/health": switching });
    await expect(connect(server)).rejects.toThrow("did not respond with HTTP");
  });

  it("a server is ready later when it reports so, and its statuses until then are logged once", async () => {
    const statuses = [503, 503, 500, 503, 429, 408, 425, 204];
    const looks = [...statuses];
    const server = await FakeServer.start({
      "/health": (response) => void response.writeHead(looks.shift() ?? 200).end(),
    });
    const { told } = await connect(server);
    const lines = [503, 500, 429, 408, 425, 204];
    expect(told).toEqual(
      lines.map((status) => `[auspex] /health responded with ${status}, waiting\n`),
    );
  });

  it("a server is never ready when it ends or is stopped while it loads", async () => {
    const server = await FakeServer.start({ "/health": json(503, {}) });
    const [gone, stop] = [new AbortController(), new AbortController()];
    const follow = () => () => {};
    const { address } = server;
    const connection = { address, token: "", maxConcurrency: 1, ended: gone.signal, follow };
    const server_ = new OpenAiInterface(DEFAULT_TIMING);
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
