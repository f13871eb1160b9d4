/**
 * Responses over a WebSocket: each message is a call of POST /vendora/responses with a stream, whose events
 * are sent as messages. So a message has the limits and errors of a call. One call runs at a time; the next
 * messages wait in order. When the socket is closed, the running call is canceled.
 */
import { createParser } from "eventsource-parser";
import { z } from "zod";
import { exactText, numberIn, parseExact } from "../../lib/exact-json.ts";
import { exceededBound } from "../../lib/json-scan.ts";
import { type OpenAiError, openAiErrorBody } from "../../protocol/openai/error.ts";
import {
  type ResponseCreate,
  responseCreate,
  responseItem,
  responseLane,
  type SocketError,
} from "../../protocol/openai/response.ts";
import { holdText, MAX_MESSAGE_CHARS } from "./held-texts.ts";
import type { SocketContext } from "./socket-context.ts";

/** Messages that may wait at one socket, and their characters. */
const MAX_WAITING = 16;
const MAX_WAITING_CHARS = 256 * 1024;
/** How long a socket may be without a response under way, and how long it may last. */
const IDLE_MS = 10 * 60_000;
const LONGEST_MS = 60 * 60_000;

/** The bounds of a message before it is parsed, as of bodies (middleware/body-reader.ts). */
const BOUNDS = { depth: 128, values: 500_000 };

/** Messages in a row that lead to no call: no other limit counts them, and each has an answer. */
const MAX_REFUSED = 64;

const NORMAL = 1000;
const GOING_AWAY = 1001;
const NOT_ALLOWED = 1008;
const TOO_BIG = 1009;

/** @param body of the call, as JSON @returns its event stream, or an error */
type CallResponse = (body: string, signal: AbortSignal) => Response | Promise<Response>;

/** A message that has arrived. Its text is dropped as soon as it is read: a call may last for minutes. */
interface Message {
  text: string;
  lane?: string;
  /** Frees the message's room in memory. */
  leave: () => void;
}

export class ResponseSocket {
  readonly #socket: WebSocket;
  readonly #owner: string;
  readonly #context: SocketContext;
  readonly #call: CallResponse;
  readonly #closed = new AbortController();
  readonly #over = Promise.withResolvers<void>();
  readonly #waiting: Message[] = [];
  #isBusy = false;
  #refused = 0;
  #idle: number | null = null;
  readonly #longest: number;

  /** @param socket that is accepted already @param owner the id of its account */
  constructor(socket: WebSocket, owner: string, context: SocketContext, call: CallResponse) {
    this.#socket = socket;
    this.#owner = owner;
    this.#context = context;
    this.#call = call;
    socket.addEventListener("message", ({ data }) => this.#take(data));
    socket.addEventListener("close", () => this.close(NORMAL));
    socket.addEventListener("error", () => this.close(GOING_AWAY));
    this.#longest = setTimeout(() => this.close(GOING_AWAY, "Connect again."), LONGEST_MS);
    this.#rest();
  }

  /** Resolves when the socket is closed. */
  get over(): Promise<void> {
    return this.#over.promise;
  }

  close(code: number, reason?: string): void {
    if (this.#closed.signal.aborted) return;
    this.#closed.abort();
    clearTimeout(this.#idle);
    clearTimeout(this.#longest);
    for (const { leave } of this.#waiting.splice(0)) leave();
    this.#context.drop();
    try {
      this.#socket.close(code, reason);
    } catch {
      // The other side has closed the socket.
    }
    this.#over.resolve();
  }

  #take(data: string | ArrayBuffer): void {
    if (this.#closed.signal.aborted) return;
    if (typeof data !== "string")
      return this.#refuse(400, "Send messages as JSON text.", { code: "invalid_json" });
    if (data.length > MAX_MESSAGE_CHARS) {
      this.#refuse(413, "A message can have at most 10 MiB.", { code: "request_too_large" });
      return this.close(TOO_BIG, "A message can have at most 10 MiB.");
    }
    const chars = this.#waiting.reduce((sum, { text }) => sum + text.length, data.length);
    if (this.#isBusy && (this.#waiting.length === MAX_WAITING || chars > MAX_WAITING_CHARS))
      return this.#refuse(
        429,
        "Too many messages are queued. Wait for a response to end.",
        { code: "rate_limit_exceeded" },
        laneOf(data),
      );
    const leave = holdText(this.#owner, data.length);
    if (!leave)
      return this.#refuse(
        503,
        "Too many large messages at once. Try again in 5 seconds.",
        { type: "server_error", code: "server_error" },
        laneOf(data),
      );
    this.#waiting.push({ text: data, leave });
    if (!this.#isBusy) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isBusy = true;
    clearTimeout(this.#idle);
    for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
      await this.#answer(next).catch(() => {
        const error = { type: "server_error" };
        this.#refuse(500, "The response was interrupted on our side.", error, next.lane);
      });
      next.leave();
    }
    this.#isBusy = false;
    this.#rest();
  }

  #rest(): void {
    if (this.#closed.signal.aborted) return;
    this.#idle = setTimeout(
      () => this.close(GOING_AWAY, "Closed after 10 minutes without messages."),
      IDLE_MS,
    );
  }

  async #answer(message: Message): Promise<void> {
    const answering = this.#begin(message);
    if (!answering) return;
    const response = await answering;
    message.leave();
    this.#refused = 0;
    if (response.ok && response.body) return this.#pass(response.body, message.lane);
    this.#context.fail();
    const { error } = openAiErrorBody.parse(await response.json());
    this.#say(response.status, error, message.lane);
  }

  /** `#begin` is not asynchronous: the variables of an asynchronous function are in memory until it ends. */
  #begin(message: Message): Response | Promise<Response> | undefined {
    const { created, wrong, lane } = messageIn(message.text);
    message.text = "";
    if (lane !== undefined) message.lane = lane;
    if (!created) {
      this.#refuse(400, WRONG[wrong], { param: wrong, code: "invalid_value" }, lane);
      return undefined;
    }
    const { type: _, stream_id: __, ...body } = created;
    return this.#call(exactText({ ...body, stream: true }), this.#closed.signal);
  }

  /** Sends each event as a message. Its lane is added to the text, which need not be parsed. */
  async #pass(stream: ReadableStream<Uint8Array>, lane: string | undefined): Promise<void> {
    let isOver = false;
    const parser = createParser({
      onEvent: ({ event = "error", data }) => {
        isOver = ENDS.includes(event);
        if (isOver) this.#end(event, data);
        this.#send(lane === undefined ? data : `${data.slice(0, -1)},"stream_id":"${lane}"}`);
      },
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
    if (isOver) return;
    this.#context.fail();
    this.#say(400, CANCELED, lane);
  }

  #end(event: string, data: string): void {
    if (event !== "response.completed" && event !== "response.incomplete")
      return this.#context.fail();
    this.#context.end(lastEvent.parse(parseExact(data)).response.output);
  }

  #refuse(status: number, message: string, more: Partial<OpenAiError>, lane?: string): void {
    const type = "invalid_request_error";
    this.#say(status, { type, param: null, code: null, message, ...more }, lane);
    this.#refused += 1;
    if (this.#refused >= MAX_REFUSED) this.close(NOT_ALLOWED, "Too many invalid messages.");
  }

  #say(status: number, error: OpenAiError, lane: string | undefined): void {
    const event: SocketError = { type: "error", status, error };
    this.#send(exactText(lane === undefined ? event : { ...event, stream_id: lane }));
  }

  #send(text: string): void {
    if (this.#closed.signal.aborted) return;
    try {
      this.#socket.send(text);
    } catch {
      this.close(GOING_AWAY);
    }
  }
}

const lastEvent = z.object({ response: z.object({ output: z.array(responseItem) }) });

const ENDS = ["response.completed", "response.incomplete", "response.failed", "error"];

/**
 * The error of a canceled response. Its stream alone would just end, since it has no event for this; a socket
 * stays open.
 */
const CANCELED: OpenAiError = {
  type: "invalid_request_error",
  param: null,
  code: "canceled",
  message: "The prediction was canceled.",
};

const WRONG = {
  type: "Messages must be JSON with the type 'response.create'.",
  background: "Background responses are not supported over a WebSocket.",
  stream_id: "Invalid stream_id. Use letters, digits, '_', '.' and '-'.",
};

type Read =
  | { created: ResponseCreate; wrong?: undefined; lane: string | undefined }
  | { created?: undefined; wrong: keyof typeof WRONG; lane: string | undefined };

function messageIn(text: string): Read {
  const message = parsed(text);
  const { data, error } = responseCreate.safeParse(message);
  const lane = responseLane.safeParse(message).data?.stream_id;
  // `parsed` makes a string of a number to keep its digits.
  if (numberIn(lane) !== undefined) return { wrong: "stream_id", lane: undefined };
  if (data) return { created: data, lane };
  const [field] = error.issues[0]?.path ?? [];
  return { wrong: field === "background" || field === "stream_id" ? field : "type", lane };
}

/**
 * Returns the lane of a message that is refused when it arrives. A large message is not parsed for that
 * alone.
 */
const laneOf = (text: string) =>
  text.length > MAX_WAITING_CHARS ? undefined : messageIn(text).lane;

/** @returns undefined for a text that is no JSON, or exceeds `BOUNDS` */
function parsed(text: string): unknown {
  try {
    return exceededBound(text, BOUNDS) ? undefined : parseExact(text);
  } catch {
    return undefined;
  }
}
