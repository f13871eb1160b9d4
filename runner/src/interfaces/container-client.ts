/**
 * HTTP to a container. Calls use kept-alive connections, bounded answers and timeouts. Streams have
 * a connection each and no timeout but the caller's signal.
 */
import { type IncomingMessage, request } from "node:http";
import { pipeline } from "node:stream/promises";
import { external } from "../lib/failure.ts";
import {
  type HttpAnswer,
  type HttpCall,
  HttpClient,
  onUpgrade,
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
      throw error instanceof UnusableResponse ? asExternal(error) : error;
    }
  }

  /**
   * Sends JSON or a form once, since a run must not start twice. Resolves with the head of the
   * answer, however long that takes; the signal closes the connection, also while the body is read.
   */
  stream(path: string, body: string | Form, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const isText = typeof body === "string";
    const outgoing = request(new URL(path, this.#address), {
      method: "POST",
      agent: false,
      headers: {
        "content-type": isText ? "application/json" : body.type,
        "content-length": isText ? Buffer.byteLength(body) : body.length,
        accept: "application/json, text/event-stream",
      },
      signal,
    });
    outgoing.on("error", reject);
    onUpgrade(outgoing, (error) => reject(asExternal(error)));
    outgoing.on("response", resolve);
    if (isText) outgoing.end(body);
    // A server may answer and break off before it has read the whole body: its answer counts.
    else pipeline(body.content, outgoing).catch(reject);
    return promise;
  }

  close(): void {
    this.#http.close();
  }
}

const asExternal = ({ message }: UnusableResponse) => external(`the container ${message}`);

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
