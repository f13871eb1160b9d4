import { describe, expect, it, onTestFinished, vi } from "vitest";
import { external } from "../../../src/run/failure.ts";
import {
  type Answer,
  chunk,
  connect,
  DONE,
  data,
  events,
  FakeServer,
  json,
  until,
} from "../support/openai-server.ts";

const CHAT = "/v1/chat/completions";
const plain = { model: "x", messages: [] };
const streaming = { ...plain, stream: true };

const metrics =
  (lines: (running: number) => string, running: () => number): Answer =>
  (response) =>
    void response.writeHead(200, { "content-type": "text/plain" }).end(lines(running()));

/**
 * Starts a server that works until its connection is closed, then `lag` looks longer, with `gauge` as its
 * metrics.
 */
async function worker(gauge: (running: number) => string, lag = 0) {
  const server = await FakeServer.start({
    [CHAT]: (response, { stream }) => {
      if (stream) events([data(chunk("a"))], false)(response, {});
    },
  });
  let looks = 0;
  const left = () => (server.open === 0 && looks++ >= lag ? 0 : 1);
  server.answers["/metrics"] = metrics(gauge, () => Math.max(server.open, left()));
  return server;
}

/**
 * Holds a grace period of this many ms until the returned function is called, however busy the machine is.
 */
function holdGrace(ms: number): () => void {
  const grace = new AbortController();
  const timeout = AbortSignal.timeout.bind(AbortSignal);
  const held = vi
    .spyOn(AbortSignal, "timeout")
    .mockImplementation((other) => (other === ms ? grace.signal : timeout(other)));
  onTestFinished(() => held.mockRestore());
  return () => grace.abort(new DOMException("The grace is over", "TimeoutError"));
}

const looked = (server: FakeServer) => server.bodies("/metrics").length;

describe("a cancel", () => {
  it.each([
    [
      "vLLM",
      (n: number) =>
        `# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine="0",model_name="a b} 7"} ${n}.0\nvllm:num_requests_waiting{engine="0"} 9.0\n`,
    ],
    [
      "llama.cpp",
      (n: number) => `llamacpp:requests_processing ${n}\nllamacpp:requests_deferred 4\n`,
    ],
    ["TGI", (n: number) => `tgi_batch_current_size ${n}\n`],
    ["SGLang", (n: number) => `sglang:num_running_reqs{tp_rank="0"} ${n}.0\n`],
  ])(
    "a cancel closes the connection, and is done when %s shows that no work is left",
    async (_, gauge) => {
      const server = await worker(gauge, 3);
      const { run } = await connect(server, { cancelGraceMs: 10_000 });
      const { reporter, outcome, stop } = run("chat_completions", streaming);
      await reporter.first("output");
      stop();
      expect(await outcome).toMatchObject({
        finish: { status: "canceled", output: "items" },
        container: "kept",
      });
      expect(server.open).toBe(0);
      expect(looked(server)).toBeGreaterThanOrEqual(4);
      expect(server.bodies(CHAT)).toHaveLength(1);
    },
  );

  it("a cancel also ends a request that was not answered yet", async () => {
    const server = await worker((n) => `llamacpp:requests_processing ${n}\n`);
    const { run } = await connect(server);
    const { outcome, stop } = run("chat_completions", plain);
    await until(() => server.open === 1);
    stop();
    expect(await outcome).toMatchObject({ finish: { status: "canceled", output: "none" } });
    expect(server.open).toBe(0);
  });

  it("a cancel subtracts the runs that go on, and sums all labels", async () => {
    const server = await worker(
      (n) =>
        `vllm:num_requests_running{engine="0"} ${n - 1}\nvllm:num_requests_running{engine="1"} 1\n`,
    );
    const { run } = await connect(server);
    const going = [1, 2].map(() => run("chat_completions", streaming));
    const { reporter, outcome, stop } = run("chat_completions", streaming);
    await Promise.all([
      ...going.map((one) => one.reporter.first("output")),
      reporter.first("output"),
    ]);
    stop();
    expect(await outcome).toMatchObject({ container: "kept" });
    expect(server.open).toBe(2);
    for (const one of going) one.stop();
    for (const one of going) expect(await one.outcome).toMatchObject({ container: "kept" });
  });

  it("a cancel that the server does not act on in time kills the container", async () => {
    const server = await worker(
      (n) => `llamacpp:requests_processing ${n}\n`,
      Number.POSITIVE_INFINITY,
    );
    const endGrace = holdGrace(60);
    const { run } = await connect(server, { cancelGraceMs: 60 });
    const { reporter, outcome, stop } = run("chat_completions", streaming);
    await reporter.first("output");
    stop();
    await until(() => looked(server) > 1);
    endGrace();
    expect(await outcome).toMatchObject({ finish: { status: "canceled" }, container: "killed" });
  });

  it("a cancel lets vLLM count again, whose metrics do not change while it is idle", async () => {
    const server = await worker((n) => `vllm:num_requests_running ${n}\n`);
    let figure = 1;
    server.answers["/metrics"] = metrics(
      (n) => `vllm:num_requests_running ${n}\n`,
      () => figure,
    );
    holdGrace(400);
    const { run } = await connect(server, { cancelGraceMs: 400 });
    const { reporter, outcome, stop } = run("chat_completions", streaming);
    await reporter.first("output");
    server.answers[CHAT] = (response) => {
      figure = 0;
      json(200, {})(response, {});
    };
    stop();
    expect(await outcome).toMatchObject({ finish: { status: "canceled" }, container: "kept" });
    const messages = [{ role: "user", content: "." }];
    expect(server.bodies(CHAT).slice(1)).toEqual([{ model: "served", messages, max_tokens: 1 }]);
  });

  it("a cancel is not done where vLLM still works when it counts again", async () => {
    const server = await worker(
      (n) => `vllm:num_requests_running ${n}\n`,
      Number.POSITIVE_INFINITY,
    );
    const endGrace = holdGrace(100);
    const { run } = await connect(server, { cancelGraceMs: 100 });
    const { reporter, outcome, stop } = run("chat_completions", streaming);
    await reporter.first("output");
    server.answers[CHAT] = json(200, {});
    stop();
    await until(() => server.bodies(CHAT).length > 1);
    const before = looked(server);
    await until(() => looked(server) > before + 1);
    endGrace();
    expect(await outcome).toMatchObject({ container: "killed" });
  });

  it.each([404, 405, 501])(
    "a cancel without metrics (%i) is done when the server is healthy",
    async (status) => {
      const server = await worker(() => "");
      server.answers["/metrics"] = json(status, {});
      const { run } = await connect(server);
      const well = server.bodies("/health").length;
      const { reporter, outcome, stop } = run("chat_completions", streaming);
      await reporter.first("output");
      stop();
      expect(await outcome).toMatchObject({ container: "kept" });
      expect(server.bodies("/health")).toHaveLength(well + 1);
    },
  );

  it.each<[string, Record<string, Answer>]>([
    ["unwell", { "/metrics": json(404, {}), "/health": json(503, {}) }],
    [
      "without such figures, and unwell",
      { "/metrics": (r) => void r.end("up 1\n"), "/health": json(500, {}) },
    ],
    ["silent", { "/metrics": () => {} }],
    ["broken", { "/metrics": json(500, {}) }],
  ])("a cancel is not done when the server is %s", async (_, answers) => {
    const server = await worker(() => "");
    const { run } = await connect(server, { cancelGraceMs: 50 });
    Object.assign(server.answers, answers);
    const { reporter, outcome, stop } = run("chat_completions", streaming);
    await reporter.first("output");
    stop();
    expect(await outcome).toMatchObject({ finish: { status: "canceled" }, container: "killed" });
  });

  it("a cancel's verification is no run time of the model, however long it takes", async () => {
    const server = await worker((n) => `llamacpp:requests_processing ${n}\n`, 6);
    const { run } = await connect(server, { cancelGraceMs: 10_000, releasePollMs: 30 });
    const { reporter, outcome, stop } = run("chat_completions", streaming);
    await reporter.first("output");
    const stopped = performance.now();
    stop();
    const { finish, container } = await outcome;
    const verified = (performance.now() - stopped) / 1_000;
    expect([finish.status, container]).toEqual(["canceled", "kept"]);
    // The wait is 30 ms, doubled after every look up to four times that.
    expect(verified).toBeGreaterThan(0.3);
    expect(finish.execution_seconds).toBeLessThan(verified);
  });

  it("a cancel is verified with few requests, shared by all canceled runs", async () => {
    const looks: number[] = [];
    const server = await worker((n) => {
      looks.push(performance.now());
      return `llamacpp:requests_processing ${n}\n`;
    }, 4);
    const { run } = await connect(server, { cancelGraceMs: 10_000, releasePollMs: 50 });
    const runs = Array.from({ length: 8 }, () => run("chat_completions", streaming));
    await Promise.all(runs.map(({ reporter }) => reporter.first("output")));
    for (const { stop } of runs) stop();
    for (const { outcome } of runs) expect(await outcome).toMatchObject({ container: "kept" });
    expect(looks).toHaveLength(5);
    const gaps = looks.slice(1).map((at, n) => at - (looks[n] ?? 0));
    // The wait is 50 ms, doubled up to four times that. A late look makes the next gap shorter.
    for (const [n, gap] of gaps.entries()) expect(gap).toBeGreaterThan([40, 80, 160, 160][n] ?? 0);
  });

  it("a cancel leaves the server time to notice it, which only an unasked server does", async () => {
    const server = await worker((n) => `llamacpp:requests_processing ${n}\n`);
    let working = 0;
    let notices: NodeJS.Timeout | undefined;
    server.answers["/metrics"] = (response) => {
      clearTimeout(notices);
      // llama.cpp notices after a second without requests.
      notices = setTimeout(() => {
        working = server.open;
      }, 80);
      void response.end(`llamacpp:requests_processing ${Math.max(working, server.open)}\n`);
    };
    server.answers[CHAT] = () => {
      working += 1;
    };
    const { run } = await connect(server, { cancelGraceMs: 10_000, releasePollMs: 100 });
    const { outcome, stop } = run("chat_completions", plain);
    await until(() => server.open === 1);
    stop();
    expect(await outcome).toMatchObject({ finish: { status: "canceled" }, container: "kept" });
  });

  it("a cancel ends with a container that ends", async () => {
    const server = await worker(
      (n) => `llamacpp:requests_processing ${n}\n`,
      Number.POSITIVE_INFINITY,
    );
    const { run, end } = await connect(server, { cancelGraceMs: 60_000 });
    const { reporter, outcome, stop } = run("chat_completions", streaming);
    await reporter.first("output");
    stop();
    await until(() => looked(server) > 0);
    end(external("the container was killed"));
    expect(await outcome).toMatchObject({ finish: { status: "canceled" }, container: "retired" });
  });

  it("a cancel before the request prevents it, and a cancel after the answer has no effect", async () => {
    const server = await FakeServer.start({ [CHAT]: events([data(chunk("a")), DONE]) });
    const { run } = await connect(server);
    const early = run("chat_completions", streaming);
    const { outcome, stop } = run("chat_completions", streaming);
    await outcome;
    stop();
    expect(await outcome).toMatchObject({ finish: { status: "succeeded" } });
    expect(await early.outcome).toMatchObject({ finish: { status: "succeeded" } });
    expect(looked(server)).toBe(0);
  });

  it("a cancel also ends a run whose connection has just broken", async () => {
    const server = await worker((n) => `llamacpp:requests_processing ${n}\n`);
    const { run } = await connect(server, { exitNoticeMs: 60_000 });
    server.answers[CHAT] = (response) => void response.socket?.destroy();
    const { outcome, stop } = run("chat_completions", plain);
    await until(() => server.bodies(CHAT).length === 1 && server.open === 0);
    stop();
    expect(await outcome).toMatchObject({ finish: { status: "canceled" }, container: "kept" });
  });
});
