/**
 * HTTP of the runner and the command, on Node's own client: `fetch` with its streams and signals takes four
 * times its CPU, and the package of undici would make the runner half as large again. Redirects are not
 * followed.
 */
import {
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestOptions,
  request as requestPlain,
} from "node:http";
import { Agent as HttpsAgent, request as requestSecure } from "node:https";
import { pipeline } from "node:stream/promises";
import { urlToHttpOptions } from "node:url";
import { sleep } from "../../../src/lib/timeout.ts";

/** The message says what the server did. */
export class UnusableResponse extends Error {}

/** A request without its body, and the head of its response. */
function begin(options: RequestOptions) {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const outgoing = (options.protocol === "https:" ? requestSecure : requestPlain)(options);
  outgoing.on("error", reject).on("response", resolve);
  // Node closes a connection on a 101 without a listener, and then emits neither an answer nor an error.
  outgoing.on("upgrade", (_answer, socket) => {
    socket.destroy();
    reject(new UnusableResponse("did not respond with HTTP"));
  });
  return { outgoing, answered: promise };
}

export interface OpenRequest extends RequestOptions {
  body?: string | Uint8Array | AsyncIterable<Uint8Array> | undefined;
}

/**
 * Makes one attempt. Resolves with the head of the response, however long that takes; the signal closes the
 * connection, also while the body is read.
 */
export function open(url: URL, { body, ...options }: OpenRequest): Promise<IncomingMessage> {
  const { outgoing, answered } = begin({ ...urlToHttpOptions(url), ...options });
  if (typeof body === "object" && !(body instanceof Uint8Array))
    // A server may answer and break off before it has read the whole body: its answer counts.
    return Promise.race([answered, pipeline(body, outgoing).then(() => answered)]);
  outgoing.end(body);
  return answered;
}

/**
 * Reads a message with events: an async iterator costs more than all else about a short one.
 * @returns undefined if it is larger than `maxBytes`, and then the connection is closed
 */
export function readBytes(message: IncomingMessage, maxBytes: number): Promise<Buffer | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer | undefined>();
  const chunks: Buffer[] = [];
  let size = 0;
  message
    .on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) return void chunks.push(chunk);
      resolve(undefined);
      message.destroy();
    })
    .on("end", () => resolve(Buffer.concat(chunks)))
    .on("error", reject)
    // The error is made only if the message is incomplete, since it captures a stack trace.
    .on("close", () => message.readableEnded || reject(new Error("the connection was closed")));
  return promise;
}

const ANY = Number.POSITIVE_INFINITY;

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** Reads a whole answer. @throws UnusableResponse if it is larger */
export async function readAnswer(message: IncomingMessage, maxBytes = ANY): Promise<HttpAnswer> {
  const { statusCode: status = 0, headers } = message;
  const body = await readBytes(message, maxBytes);
  if (body) return { status, headers, body: body.toString() };
  throw new UnusableResponse("sent too large a response");
}

export interface HttpCall {
  method: "DELETE" | "GET" | "POST" | "PUT";
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
  /** For the whole call. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** The largest response; any by default. */
  maxBytes?: number;
}

/** Calls to one server over kept-alive connections, with the whole response in memory. */
export class HttpClient {
  readonly #server: RequestOptions & { agent: HttpAgent };

  /**
   * @param url of the server, whose path and query are not used
   * @param idleMs how long a connection is kept without a call: less than the server keeps it, so
   * that no call is sent on a connection that is being closed
   */
  constructor(url: URL, idleMs: number) {
    const { protocol, hostname, port } = urlToHttpOptions(url);
    const agent = new (protocol === "https:" ? HttpsAgent : HttpAgent)({
      keepAlive: true,
      timeout: idleMs,
    });
    this.#server = { protocol, hostname, port, agent };
  }

  /** Idempotent calls only: a call may be made twice. @throws the signal's reason; UnusableResponse; Error */
  async call(path: string, call: HttpCall): Promise<HttpAnswer> {
    const { method, headers, body, timeoutMs, signal, maxBytes } = call;
    signal?.throwIfAborted();
    const { outgoing, answered } = begin({ ...this.#server, path, method, headers });
    const { promise: stopped, reject: stop } = Promise.withResolvers<never>();
    const abort = () => stop(signal?.reason);
    const late = () => stop(new Error(`no response within ${timeoutMs / 1000} s`));
    const timer = setTimeout(late, timeoutMs);
    signal?.addEventListener("abort", abort, { once: true });
    outgoing.end(body);
    let hasBegun = false;
    try {
      const answer = answered.then((message) => {
        hasBegun = true;
        return readAnswer(message, maxBytes);
      });
      return await Promise.race([answer, stopped]);
    } catch (error) {
      outgoing.destroy();
      // The server has most likely closed the connection while it was idle, before it saw the call.
      const isStale = error instanceof Error && "code" in error && error.code === "ECONNRESET";
      if (outgoing.reusedSocket && isStale && !hasBegun) return this.call(path, call);
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  close(): void {
    this.#server.agent.destroy();
  }
}

/** A request may take any time as long as bytes are moving. */
export const IDLE_TIMEOUT_MS = 60_000;

export interface BodyRequest {
  method: "PATCH" | "POST" | "PUT";
  headers?: Record<string, string>;
  content: AsyncIterable<Uint8Array> | Iterable<Uint8Array>;
  length: number;
  /** How long to wait for a response before the content is sent. */
  waitMs?: number;
  signal: AbortSignal;
  idleMs?: number;
}

/**
 * Makes one attempt to send a long body of known length as it is read, with HTTP/1.1, since long uploads over
 * HTTP/2 are reset by some edges. A response before the end of the body is an answer: the rest is not sent.
 */
export async function sendBody(url: URL, request: BodyRequest): Promise<HttpAnswer> {
  const { method, content, length, waitMs = 0, signal, idleMs = IDLE_TIMEOUT_MS } = request;
  const headers = {
    "content-type": "application/octet-stream",
    ...request.headers,
    "content-length": length,
  };
  const connection = { method, headers, signal, timeout: idleMs };
  const { outgoing, answered } = begin({ ...urlToHttpOptions(url), ...connection });
  outgoing.on("timeout", () => outgoing.destroy(new Error(`no progress for ${idleMs / 1000} s`)));
  try {
    if (waitMs > 0) {
      outgoing.flushHeaders();
      await Promise.race([answered, sleep(waitMs)]);
    }
    const sent = pipeline(content, outgoing).then(() => answered);
    return await readAnswer(await Promise.race([answered, sent]));
  } finally {
    outgoing.destroy();
  }
}
