/**
 * HTTP to a container. Calls use kept-alive connections, bounded answers and timeouts. Streams have
 * a connection each and no timeout but the caller's signal.
 */
import type { IncomingMessage } from "node:http";
import { external } from "../lib/failure.ts";
import {
  type HttpAnswer,
  type HttpCall,
  HttpClient,
  open,
  UnusableResponse,
} from "../lib/http-client.ts";

const MAX_ANSWER_BYTES = 4 * 1024 ** 2;
/** Servers close idle connections after 5 s (uvicorn, Node) or later. */
const IDLE_TIMEOUT_MS = 3_000;

/** The body of a call as a form. */
export interface Form {
  type: string;
  /** The length in bytes: not every server accepts a body without a length. */
  length: number;
  content: AsyncIterable<Uint8Array>;
}

export type Call = Pick<HttpCall, "method" | "headers" | "timeoutMs"> & {
  path: string;
  body?: string | Uint8Array;
};
export type Answer = Pick<HttpAnswer, "status" | "body">;

export class ContainerClient {
  readonly #address: URL;
  readonly #http: HttpClient;

  constructor(address: URL) {
    this.#address = address;
    this.#http = new HttpClient(address, IDLE_TIMEOUT_MS);
  }

  /** Idempotent calls only. */
  async call({ path, ...call }: Call): Promise<Answer> {
    try {
      return await this.#http.call(path, { ...call, maxBytes: MAX_ANSWER_BYTES });
    } catch (error) {
      throw asExternal(error);
    }
  }

  /**
   * Sends JSON or a form once, since a run must not start twice. Resolves with the head of the
   * answer, however long that takes; the signal closes the connection, also while the body is read.
   */
  async stream(
    path: string,
    body: string | Form,
    signal: AbortSignal,
    headers: Record<string, string>,
  ): Promise<IncomingMessage> {
    const isText = typeof body === "string";
    try {
      return await open(new URL(path, this.#address), {
        method: "POST",
        agent: false,
        headers: {
          ...headers,
          "content-type": isText ? "application/json" : body.type,
          "content-length": isText ? Buffer.byteLength(body) : body.length,
          accept: "application/json, text/event-stream",
        },
        body: isText ? body : body.content,
        signal,
      });
    } catch (error) {
      throw asExternal(error);
    }
  }

  close(): void {
    this.#http.close();
  }
}

const asExternal = (error: unknown) =>
  error instanceof UnusableResponse ? external(`the container ${error.message}`) : error;

/**
 * The body as text; undefined if it is larger than `maxBytes`, and then the connection is closed.
 * `backpressure` gets the number of bytes read so far and may delay reading more.
 */
export async function readBounded(
  message: IncomingMessage,
  max: number,
  holds?: (size: number) => Promise<void>,
): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    // Leaving the loop destroys the message and its connection.
    if (size > max) return undefined;
    chunks.push(chunk);
    await holds?.(size);
  }
  return Buffer.concat(chunks).toString();
}

/** Whether the connection broke or was refused, so that the server is probably gone. */
export const isConnectionError = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(String(error.code));
