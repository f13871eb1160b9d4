/** A control plane on loopback that speaks its side of the protocol, and can be made to misbehave. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { type WebSocket, WebSocketServer } from "ws";
import {
  CLOSE,
  type EventsFrame,
  eventsFrame,
  PING,
  PONG,
  type ReleaseFrame,
  type ReportReply,
  reportsRequest,
  upFrame,
} from "../../../src/protocol/channel.ts";
import { LEASE_HEADER } from "../../../src/protocol/runner.ts";
import { FakeFiles } from "./fake-files.ts";

/** The path of reports of short runs. */
export const REPORTS = "/v1/runner/reports";

export interface Answer {
  status?: number;
  body?: unknown;
  headers?: Record<string, string>;
}

type Endpoint = (body: unknown, request: IncomingMessage) => Answer | Promise<Answer>;

/** The prediction's side of one attempt. Its log outlives its connections. */
export class FakePrediction {
  readonly frames: EventsFrame[] = [];
  readonly releases: ReleaseFrame[] = [];
  /** The number of each received frame, also of repeated ones. */
  readonly received: number[] = [];
  connections = 0;
  reports = 0;
  /** Whether reports are answered with `fenced`. */
  fenced = false;
  pings = 0;
  socket: WebSocket | undefined;
  /** The status with which upgrades are refused, if any. */
  refuse: number | undefined;
  /** Called before a frame is kept; `drop` forgets it, `mute` keeps it without an ack. */
  onFrame: (frame: EventsFrame, socket: WebSocket) => "keep" | "drop" | "mute" = () => "keep";
  onConnect: (socket: WebSocket) => void = () => {};
  answersPings = true;
  /** The least time between two frames, as the welcome says. */
  flushMs = 30;
  readonly #waiters = new Set<() => void>();

  accept(socket: WebSocket): void {
    this.connections++;
    this.socket = socket;
    socket.on("message", (data) => this.#receive(data.toString(), socket));
    socket.on("close", () => this.#changed());
    socket.send(
      JSON.stringify({ type: "welcome", seq: this.frames.length, flush_ms: this.flushMs }),
    );
    this.onConnect(socket);
    this.#changed();
  }

  /** Handles the only frame of a short run, without a connection. */
  report(frame: EventsFrame): ReportReply {
    this.reports++;
    this.#changed();
    if (this.refuse !== undefined) return { type: "refused", reason: String(this.refuse) };
    if (this.fenced) return { type: "fenced", reason: "too late" };
    this.#store(frame);
    this.#changed();
    return { type: "ack", seq: frame.seq };
  }

  tell(frame: object): void {
    this.socket?.send(JSON.stringify(frame));
  }

  /** Resolves when the condition holds, which is checked after every event here. */
  async until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiters.add(resolve);
      await promise;
    }
  }

  get finish() {
    return this.frames.at(-1)?.finish;
  }

  get events() {
    return this.frames.flatMap(({ events }) => events);
  }

  #receive(text: string, socket: WebSocket): void {
    if (text === PING) {
      this.pings++;
      if (this.answersPings) socket.send(PONG);
    } else {
      const frame = upFrame.parse(JSON.parse(text));
      if (frame.type === "release") this.releases.push(frame);
      else this.#keep(frame, socket);
    }
    this.#changed();
  }

  #keep(frame: EventsFrame, socket: WebSocket): void {
    this.received.push(frame.seq);
    // The real control plane also closes the channel when a frame before this one is missing.
    if (frame.seq > this.frames.length + 1) return socket.close(CLOSE.badFrame, "a gap");
    const verdict = frame.seq <= this.frames.length ? "keep" : this.onFrame(frame, socket);
    if (verdict !== "drop") this.#store(frame);
    if (verdict === "keep") socket.send(JSON.stringify({ type: "ack", seq: frame.seq }));
  }

  #store(frame: EventsFrame): void {
    if (frame.seq !== this.frames.length + 1) return;
    this.frames.push(frame);
  }

  #changed(): void {
    for (const resolve of this.#waiters) resolve();
    this.#waiters.clear();
  }
}

export class FakeControlPlane {
  readonly predictions = new Map<string, FakePrediction>();
  readonly endpoints = new Map<string, Endpoint>();
  readonly files = new FakeFiles(() => this.url);
  readonly #http = createServer((request, response) => {
    // A caller that hung up gets no answer.
    this.#serve(request, response).catch(() => response.destroy());
  });
  readonly #sockets = new WebSocketServer({ noServer: true });

  static async start(): Promise<FakeControlPlane> {
    const plane = new FakeControlPlane();
    plane.#http.on("upgrade", (request, socket, head) => {
      const lease = String(request.headers[LEASE_HEADER]);
      const prediction = plane.predictions.get(lease);
      const status = prediction ? prediction.refuse : 404;
      if (!prediction || status !== undefined) {
        socket.end(`HTTP/1.1 ${status} Refused\r\ncontent-length: 0\r\n\r\n`);
        return;
      }
      plane.#sockets.handleUpgrade(request, socket, head, (ws) => prediction.accept(ws));
    });
    plane.endpoints.set(REPORTS, (body) => {
      const { reports } = reportsRequest.parse(body);
      const replies = reports.map(({ lease, frame }): ReportReply => {
        const prediction = plane.predictions.get(lease);
        if (!prediction) return { type: "refused", reason: "nothing to report to" };
        return prediction.report(eventsFrame.parse(JSON.parse(frame)));
      });
      return { body: { replies } };
    });
    plane.#http.listen(0, "127.0.0.1");
    await once(plane.#http, "listening");
    return plane;
  }

  get url(): string {
    const { port } = this.#http.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  get openSockets(): number {
    return this.#sockets.clients.size;
  }

  prediction(lease: string): FakePrediction {
    const prediction = new FakePrediction();
    this.predictions.set(lease, prediction);
    return prediction;
  }

  async stop(): Promise<void> {
    for (const socket of this.#sockets.clients) socket.terminate();
    this.#http.closeAllConnections();
    this.#http.close();
    await once(this.#http, "close");
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (await this.files.serve(request, response)) return;
    const endpoint = this.endpoints.get(request.url ?? "");
    const body = request.method === "POST" ? await json(request) : undefined;
    const answer = endpoint ? await endpoint(body, request) : { status: 404 };
    response.writeHead(answer.status ?? 200, {
      "content-type": "application/json",
      ...answer.headers,
    });
    response.end(answer.body === undefined ? "" : JSON.stringify(answer.body));
  }
}
