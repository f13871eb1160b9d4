/** A receiver of webhooks, which can fail in every way there is. */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import type { Answer, Behaviour, Received, Trouble } from "./exchange.ts";

const CHUNK = Buffer.alloc(64 * 1_024, "x");
const HUGE = 4 * 1_024 * 1_024;
const TRICKLE_MS = 20;

/** @param sent called with the number of bytes of an endless body */
function answer(
  behaviour: Behaviour,
  response: ServerResponse,
  socket: Socket,
  sent: (bytes: number) => void,
): void {
  // The client may leave in the middle of any answer.
  response.on("error", () => {});
  if (typeof behaviour === "string") cause(behaviour, response, socket, sent);
  else if (behaviour.afterMs) setTimeout(say, behaviour.afterMs, behaviour, response).unref();
  else say(behaviour, response);
}

function say({ status, headers = {}, body = "", open }: Answer, response: ServerResponse): void {
  response.writeHead(status, headers);
  if (open) response.write(body);
  else response.end(body);
}

function cause(
  trouble: Trouble,
  response: ServerResponse,
  socket: Socket,
  sent: (bytes: number) => void,
): void {
  switch (trouble) {
    case "reset":
    case "reset-at-headers":
      socket.resetAndDestroy();
      return;
    case "hang-up":
      socket.end();
      return;
    case "silent":
      return;
    case "trickle":
      trickle(socket);
      return;
    case "stalled":
      response.writeHead(200, { "content-length": "100" }).flushHeaders();
      return;
    case "short":
      response.writeHead(200, { "content-length": "100" }).write("short", () => socket.end());
      return;
    case "endless":
      response.writeHead(200);
      Readable.from(endless(sent), { highWaterMark: 1 }).pipe(response);
      return;
    case "huge-headers":
      // The answer is written by hand, because Node refuses headers of this size.
      socket.end(`HTTP/1.1 200 OK\r\nhuge: ${"x".repeat(HUGE)}\r\ncontent-length: 0\r\n\r\n`);
      return;
    case "hints":
      response.writeEarlyHints({ link: "</style.css>; rel=preload" });
      response.writeHead(200).end();
      return;
    case "garbage":
      socket.end("\u0000\u0001 no HTTP at all\r\n\r\n");
      return;
    case "half":
      socket.end("HTTP/1.1 20");
  }
}

function* endless(sent: (bytes: number) => void): Generator<Buffer> {
  for (;;) {
    yield CHUNK;
    sent(CHUNK.length);
  }
}

function trickle(socket: Socket): void {
  const bytes = (function* () {
    yield* "HTTP/1.1 200 OK\r\ntrickle: ";
    for (;;) yield "x";
  })();
  const timer = setInterval(() => socket.write(bytes.next().value), TRICKLE_MS).unref();
  socket.on("close", () => clearInterval(timer));
}

const OK: Behaviour = { status: 200 };

interface Waiter {
  path: string;
  enough: (received: Received[]) => boolean;
  done: (received: Received[]) => void;
}

export class Receiver {
  /** Requests in order of arrival. */
  readonly received: Received[] = [];
  readonly #scripts = new Map<string, Behaviour[]>();
  readonly #byPath = new Map<string, Received[]>();
  readonly #waiters = new Set<Waiter>();
  readonly #held = new Map<string, () => void>();
  readonly #connections = new WeakMap<Socket, number>();
  /** An idle connection stays open: a client that keeps it for its next request must not lose it. */
  readonly #server = createServer({ keepAliveTimeout: 0 }, (request, response) =>
    // A request that breaks off is not recorded.
    this.#take(request, response).catch(() => {}),
  );
  #connected = 0;

  /** Opens a receiver. @param port 0: any free port; another: the port of a closed receiver */
  static async open(port = 0): Promise<Receiver> {
    const receiver = new Receiver();
    receiver.#server.on("connection", (socket) => {
      receiver.#connections.set(socket, ++receiver.#connected);
      // The client may leave at any moment.
      socket.on("error", () => {});
    });
    receiver.#server.listen(port, "127.0.0.1");
    await once(receiver.#server, "listening");
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  /** The address of the receiver, without a slash at its end. */
  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /**
   * Sets the behaviours for requests, one after the other; the last stays. The default is 200.
   * @param target a path, or a path with a query, which takes precedence
   */
  script(target: string, behaviours: Behaviour[]): void {
    this.#scripts.set(target, [...behaviours]);
  }

  of(path: string): Received[] {
    return this.#byPath.get(path) ?? [];
  }

  /** Sends the last answer to a path that is held. */
  release(path: string): void {
    this.#held.get(path)?.();
    this.#held.delete(path);
  }

  /**
   * Resolves with the requests to a path, once there are enough.
   * @param enough a number of requests, or a rule that is called whenever a request comes or is over
   */
  waitFor(path: string, enough: number | Waiter["enough"]): Promise<Received[]> {
    const rule = typeof enough === "number" ? (all: Received[]) => all.length >= enough : enough;
    return new Promise((done) => {
      this.#waiters.add({ path, enough: rule, done });
      this.#tell(path);
    });
  }

  /** Breaks open connections: nothing more is received, and nobody is waited for. */
  async close(): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, "close");
  }

  async #take(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, search: query } = new URL(request.url ?? "/", this.url);
    const behaviour = this.#next(path + query) ?? this.#next(path) ?? OK;
    const body = behaviour === "reset-at-headers" ? "" : await text(request);
    const received: Received = {
      index: this.received.length,
      connection: this.#connections.get(request.socket) ?? 0,
      method: request.method ?? "",
      path,
      query,
      headers: Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, String(value)]),
      ),
      body,
      at: Date.now(),
      sent: 0,
      over: false,
    };
    this.received.push(received);
    const those = this.#byPath.get(path);
    if (those) those.push(received);
    else this.#byPath.set(path, [received]);
    response.on("close", () => {
      received.over = true;
      this.#tell(path);
    });
    const go = () =>
      answer(behaviour, response, request.socket, (bytes) => {
        received.sent += bytes;
      });
    if (typeof behaviour === "object" && behaviour.held) this.#held.set(path, go);
    else go();
    this.#tell(path);
  }

  #next(target: string): Behaviour | undefined {
    const [next, ...rest] = this.#scripts.get(target) ?? [];
    if (rest.length > 0) this.#scripts.set(target, rest);
    return next;
  }

  #tell(path: string): void {
    const those = this.of(path);
    for (const waiter of this.#waiters) {
      if (waiter.path !== path || !waiter.enough(those)) continue;
      this.#waiters.delete(waiter);
      waiter.done(those);
    }
  }
}
