/** A server of the test that speaks the OpenAI convention, or not, and a session with it. */
import { once } from "node:events";
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from "node:http";
import { onTestFinished, vi } from "vitest";
import { DEFAULT_TIMING, type Run, type Timing } from "../../../runner/src/interfaces/interface.ts";
import { LargeReads } from "../../../runner/src/interfaces/large-reads.ts";
import { OpenAiInterface } from "../../../runner/src/interfaces/openai/openai.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { OpenAiCall, ResponsesVia } from "../../../src/protocol/runner.ts";
import { objectionTo } from "../../journey/models/oracle/strict.mjs";
import { type Recorded, record } from "./containers.ts";

export type Body = Record<string, Json>;
export type Answer = (response: ServerResponse, body: Body) => void;

export const json =
  (status: number, body: unknown): Answer =>
  (response) =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(body));

/**
 * Answers with an event stream of these pieces, each written separately; it stays open unless it has `end`.
 */
export const events =
  (pieces: (string | Buffer)[], end = true): Answer =>
  async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
    for (const piece of pieces) {
      await new Promise((resolve) => response.write(piece, resolve));
      // The pause makes each piece a packet, and a read, of its own.
      await new Promise(setImmediate);
    }
    if (end) response.end();
  };

export const data = (value: unknown) => `data: ${JSON.stringify(value)}\n\n`;
export const DONE = "data: [DONE]\n\n";
export const chunk = (content: string, more: object = {}) => ({
  id: "chatcmpl-1",
  model: "served",
  choices: [{ index: 0, delta: { content }, finish_reason: null }],
  ...more,
});

export class FakeServer {
  /** All requests, in order. */
  readonly asked: { path: string; body: Body; headers: IncomingHttpHeaders }[] = [];
  /** Answers by path; any other path is a 404. */
  readonly answers: Record<string, Answer> = {
    "/health": (response) => void response.writeHead(200).end(),
    "/v1/models": json(200, { object: "list", data: [{ id: "served" }, { id: "other" }] }),
  };
  /** The number of requests whose connection is open and that have no whole answer. */
  open = 0;
  readonly #server = createServer((request, response) => void this.#answer(request, response));

  static async start(answers: Record<string, Answer> = {}): Promise<FakeServer> {
    const server = new FakeServer();
    Object.assign(server.answers, answers);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    onTestFinished(() => server.stop());
    return server;
  }

  get address(): URL {
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return new URL(`http://127.0.0.1:${address.port}`);
  }

  /** Returns the bodies of the requests to a path. */
  bodies(path: string): Body[] {
    return this.asked.filter((one) => one.path === path).map(({ body }) => body);
  }

  stop(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const text = Buffer.concat(await request.toArray()).toString();
    const body = text === "" ? {} : JSON.parse(text);
    const path = request.url ?? "";
    this.asked.push({ path, body, headers: request.headers });
    const posted = request.method === "POST";
    if (posted) {
      this.open += 1;
      response.on("close", () => {
        this.open -= 1;
      });
    }
    const objection = path === CHAT ? objectionTo(body) : undefined;
    const answer = objection
      ? json(400, { message: objection, type: "BadRequestError", code: 400 })
      : (this.answers[path] ?? json(404, { detail: "Not Found" }));
    answer(response, body);
  }
}

interface Attempt {
  reporter: Recorded;
  outcome: ReturnType<Awaited<ReturnType<OpenAiInterface["connect"]>>["run"]>;
  stop: () => void;
}

export const LIMITS: Run["limits"] = {
  idle_seconds: 60,
  max_concurrency: 32,
  output_bytes: 100_000,
  logs_bytes: 1_000,
};

export async function connect(
  server: FakeServer,
  timing: Partial<Timing> = {},
  large = new LargeReads(),
) {
  const gone = new AbortController();
  const told: string[] = [];
  const times = {
    ...DEFAULT_TIMING,
    readinessPollMs: 5,
    exitNoticeMs: 20,
    cancelGraceMs: 10_000,
    releasePollMs: 10,
    ...timing,
  };
  const session = await new OpenAiInterface(times, large).connect(
    {
      address: server.address,
      token: "",
      maxConcurrency: 32,
      ended: gone.signal,
      follow: () => () => {},
    },
    (logs) => void told.push(logs),
    new AbortController().signal,
  );
  onTestFinished(() => session.close());
  const run = (
    call: OpenAiCall | null,
    input: Body,
    limits = LIMITS,
    responses?: ResponsesVia,
    traceparent?: string,
  ): Attempt => {
    const reporter = record();
    const stop = new AbortController();
    const model = "ada/parrot";
    const files = new Map();
    const given = { id: "1", call, responses, traceparent, model, input, files, limits, reporter };
    return {
      reporter,
      outcome: session.run({ ...given, stop: stop.signal }),
      stop: () => stop.abort(),
    };
  };
  return { run, told, end: (reason: unknown) => gone.abort(reason) };
}

/** Runs a chat with a server that answers so. */
export async function chat(answer: Answer, input: Body = { stream: true }) {
  const server = await FakeServer.start({ "/v1/chat/completions": answer });
  const { run } = await connect(server);
  const { reporter, outcome } = run("chat_completions", { model: "x", messages: [], ...input });
  return { server, reporter, ...(await outcome) };
}

export const until = (true_: () => boolean) =>
  vi.waitFor(
    () => {
      if (!true_()) throw new Error("not yet");
    },
    { interval: 2, timeout: 5_000 },
  );

// Sample requests and answers of tests.

export const CHAT = "/v1/chat/completions";
export const completion = { object: "chat.completion", model: "served", choices: [] };
/** Answers that the server switches to another protocol on the same connection. */
export const switching: Answer = (response) =>
  void response.socket?.write(
    "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
  );
export const asking = { model: "ada/parrot:3", messages: [{ role: "user", content: "hi" }] };
