/**
 * Responses over a WebSocket: each message is a call of POST /vendora/responses with a stream, whose events
 * are sent as messages. So all that holds for a call holds for it. One runs at a time; the next messages
 * wait in order. When the socket is closed, what runs is canceled.
 */
import { createParser } from "eventsource-parser";
import { exceededBound } from "../../lib/json-scan.ts";
import { type VendoraError, vendoraErrorBody } from "../../protocol/vendora/error.ts";
import {
  type ResponseCreate,
  responseCreate,
  type SocketError,
} from "../../protocol/vendora/response-socket.ts";

/** Messages that may wait, and their characters: they are in the memory that all accounts share. */
const MAX_WAITING = 16;
const MAX_WAITING_CHARS = 256 * 1024;
/** Without a response under way, and in all. */
const IDLE_MS = 10 * 60_000;
const LONGEST_MS = 60 * 60_000;

/** As of bodies (middleware/body-reader.ts), before it is parsed. */
const BOUNDS = { depth: 128, values: 500_000 };

const NORMAL = 1000;
const GOING_AWAY = 1001;

/** @param body of the call, as JSON @returns its event stream, or an error */
type CallResponse = (body: string, signal: AbortSignal) => Promise<Response>;

export class ResponseSocket {
  readonly #socket: WebSocket;
  readonly #call: CallResponse;
  readonly #closed = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  readonly #waiting: string[] = [];
  #isBusy = false;
  #idle: number | null = null;
  readonly #longest: number;

  /** @param socket that is accepted already */
  constructor(socket: WebSocket, call: CallResponse) {
    this.#socket = socket;
    this.#call = call;
    socket.addEventListener("message", ({ data }) => this.#take(data));
    socket.addEventListener("close", () => this.close(NORMAL));
    socket.addEventListener("error", () => this.close(GOING_AWAY));
    this.#longest = setTimeout(() => this.close(GOING_AWAY, "Connect again."), LONGEST_MS);
    this.#rest();
  }

  /** Resolves when it is closed. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  close(code: number, reason?: string): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    clearTimeout(this.#idle);
    clearTimeout(this.#longest);
    this.#waiting.length = 0;
    try {
      this.#socket.close(code, reason);
    } catch {
      // The other side has closed it.
    }
    this.#over.resolve();
  }

  #take(data: string | ArrayBuffer): void {
    if (typeof data !== "string")
      return this.#refuse(400, "Messages are JSON text.", { code: "invalid_json" });
    if (!this.#isBusy) return void this.#run(data);
    const chars = this.#waiting.reduce((sum, { length }) => sum + length, data.length);
    if (this.#waiting.length < MAX_WAITING && chars <= MAX_WAITING_CHARS)
      return void this.#waiting.push(data);
    this.#refuse(429, "Too much is waiting: send the next message when a response has ended.", {
      code: "rate_limit_exceeded",
    });
  }

  async #run(first: string): Promise<void> {
    this.#isBusy = true;
    clearTimeout(this.#idle);
    for (let next: string | undefined = first; next !== undefined; next = this.#waiting.shift()) {
      await this.#answer(next).catch(() => {
        this.#refuse(500, "The response broke off on our side.", { type: "server_error" });
      });
    }
    this.#isBusy = false;
    this.#rest();
  }

  #rest(): void {
    if (this.#closed.signal.aborted) return;
    this.#idle = setTimeout(() => this.close(GOING_AWAY, "Nothing was asked."), IDLE_MS);
  }

  async #answer(text: string): Promise<void> {
    const { created, wrong } = messageIn(text);
    if (!created) return this.#refuse(400, WRONG[wrong], { param: wrong, code: "invalid_value" });
    const { type: _, stream_id, ...body } = created;
    const { signal } = this.#closed;
    const response = await this.#call(JSON.stringify({ ...body, stream: true }), signal);
    const lane = stream_id === undefined ? {} : { stream_id };
    if (response.ok && response.body) return this.#pass(response.body, stream_id);
    const { error } = vendoraErrorBody.parse(await response.json());
    this.#say({ type: "error", status: response.status, error, ...lane });
  }

  /** Each event as a message. Its lane is added to the text: it need not be parsed. */
  async #pass(stream: ReadableStream<Uint8Array>, lane: string | undefined): Promise<void> {
    const parser = createParser({
      onEvent: ({ data }) =>
        this.#send(lane === undefined ? data : `${data.slice(0, -1)},"stream_id":"${lane}"}`),
    });
    const reader = stream.getReader();
    const leave = () => void reader.cancel().catch(() => {});
    if (this.#closed.signal.aborted) leave();
    this.#closed.signal.addEventListener("abort", leave);
    const decoder = new TextDecoder();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      parser.feed(decoder.decode(value, { stream: true }));
    }
    this.#closed.signal.removeEventListener("abort", leave);
  }

  #refuse(status: number, message: string, more: Partial<VendoraError>): void {
    const type = "invalid_request_error";
    const error = { type, param: null, code: null, message, ...more };
    this.#say({ type: "error", status, error });
  }

  #say(event: SocketError): void {
    this.#send(JSON.stringify(event));
  }

  #send(text: string): void {
    if (!this.#closed.signal.aborted) this.#socket.send(text);
  }
}

const WRONG = {
  type: "A message is JSON with the type 'response.create'.",
  background: "Over a WebSocket no response is in the background.",
  stream_id: "A stream_id has letters, digits, '_', '.' and '-'.",
};

type Message =
  | { created: ResponseCreate; wrong?: undefined }
  | { created?: undefined; wrong: keyof typeof WRONG };

function messageIn(text: string): Message {
  const { data, error } = responseCreate.safeParse(parsed(text));
  if (data) return { created: data };
  const [field] = error.issues[0]?.path ?? [];
  return { wrong: field === "background" || field === "stream_id" ? field : "type" };
}

/** @returns undefined for what is no JSON, or too much of it */
function parsed(text: string): unknown {
  try {
    return exceededBound(text, BOUNDS) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
