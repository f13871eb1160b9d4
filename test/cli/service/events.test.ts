/** The events of a prediction over connections that break: each once, and in order. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { afterEach, beforeEach, expect, test } from "vitest";
import { follow, type PredictionEvent } from "../../../src/cli/service/events.ts";

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const URL_OF = `https://auspex.test/v1/predictions/${ID}`;
const DONE = {
  id: ID,
  model: { owner: "ada", name: "story", version_number: 1 },
  created_at: "2026-11-26T00:00:00.000Z",
  updated_at: "2026-11-26T00:00:00.000Z",
  status: "succeeded",
  setup_time: null,
  execution_time: "0.100",
  error: null,
  metrics: null,
  cost: null,
  created_by: null,
  url: URL_OF,
  stream: true,
};

const created = { status: "pending", prediction: { id: ID, url: URL_OF } };
const event = (id: number, name: string, data: unknown) =>
  `id: ${id}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const ALL = [
  event(1, "status", created),
  event(2, "output", "a"),
  event(5, "unknown", {}),
  event(6, "output", "b"),
  event(7, "done", DONE),
];

type Turn = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let url: string;
let turns: Turn[];
let requests: string[];
beforeEach(async () => {
  turns = [];
  requests = [];
  server = createServer(async (request, response) => {
    const body = await text(request);
    const key = request.headers["idempotency-key"] ?? "";
    requests.push([request.method, request.url, key, body].filter(Boolean).join(" "));
    turns.shift()?.(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  url = `http://127.0.0.1:${address.port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Sends these events; then the stream ends, or breaks. */
const sends =
  (events: string[], isBroken = false): Turn =>
  (_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`: keep-alive\n${events.join("")}`, () =>
      isBroken ? response.destroy() : response.end(),
    );
  };

const answers =
  (status: number): Turn =>
  (_, response) =>
    response.writeHead(status).end();

async function read(more: { id?: string; idleSeconds?: number; signal?: AbortSignal } = {}) {
  const events: PredictionEvent[] = [];
  const retried: unknown[] = [];
  const { signal = new AbortController().signal } = more;
  const create = { body: { model: "ada/story" }, key: "k-1" };
  const access = { url, token: "aus_x" };
  const onRetry = (error: unknown) => retried.push(error);
  for await (const one of follow({ access, create, onRetry, ...more, signal })) events.push(one);
  return { events, retried, outputs: events.filter((one) => one.event === "output") };
}

const ab = [
  { event: "output", data: "a" },
  { event: "output", data: "b" },
];

test("events arrive over one connection, and unknown ones are left out", async () => {
  turns = [sends(ALL)];
  const { events } = await read();
  expect(events.map((one) => one.event)).toEqual(["status", "output", "output", "done"]);
  expect(requests).toEqual(['POST /v1/predictions k-1 {"model":"ada/story"}']);
});

test("a broken stream is resumed after the last event, whatever the service answers meanwhile", async () => {
  turns = [sends(ALL.slice(0, 3), true), answers(503), sends(ALL.slice(3))];
  const { outputs, retried } = await read();
  expect(outputs).toEqual(ab);
  const again = `GET /v1/predictions/${ID}/stream?after_id=5`;
  expect(requests.slice(1)).toEqual([again, again]);
  expect(retried).toHaveLength(1);
});

test("a create whose answer was lost is sent again as the same one", async () => {
  turns = [(_, response) => response.destroy(), sends(ALL)];
  expect((await read()).outputs).toEqual(ab);
  expect(requests[1]).toBe(requests[0]);
});

test("an existing prediction is read from its beginning, and an idle stream is left", async () => {
  turns = [sends(ALL), sends(ALL.slice(0, 2))];
  expect((await read({ id: ID })).outputs).toEqual(ab);
  expect((await read({ id: ID, idleSeconds: 1 })).outputs).toHaveLength(1);
  expect(requests).toEqual(Array(2).fill(`GET /v1/predictions/${ID}/stream?after_id=0`));
});

test("a failure that no retry cures ends the stream: a refusal, and a token that ends", async () => {
  turns = [answers(403)];
  await expect(read()).rejects.toMatchObject({ status: 403 });
  const problem = { type: "t", title: "t", status: 401, detail: "Ended.", request_id: "r" };
  turns = [sends([...ALL.slice(0, 2), `event: problem\ndata: ${JSON.stringify(problem)}\n\n`])];
  await expect(read()).rejects.toMatchObject({ status: 401, message: "Ended." });
  const stop = new AbortController();
  turns = [() => stop.abort(new Error("stopped"))];
  await expect(read({ signal: stop.signal })).rejects.toThrow("stopped");
});
