/**
 * HTTP to a container. Calls use kept-alive connections, bounded answers and timeouts. Streams have
 * a connection each and no timeout but the caller's signal.
 */
import { external } from "../../../src/run/failure.ts";
import type { ServerAnswer } from "../../../src/run/openai/answer.ts";
import type { Form } from "../../../src/run/openai/form.ts";
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
  ): Promise<ServerAnswer> {
    const isText = typeof body === "string";
    try {
      const message = await open(new URL(path, this.#address), {
        method: "POST",
        agent: false,
        headers: {
          ...headers,
          "content-type": isText ? "application/json" : body.type,
          "content-length": isText ? Buffer.byteLength(body) : body.length,
          accept: "application/json, text/event-stream",
        },
        body: isText ? body : body.content(),
        signal,
      });
      const { statusCode: status = 0, headers: head } = message;
      const type = head["content-type"] ?? "";
      return { status, type, body: message, close: (reason) => void message.destroy(reason) };
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

/** Whether the connection broke or was refused, so that the server is probably gone. */
export const isConnectionError = (error: unknown): boolean =>
  error instanceof Error &&
  "code" in error &&
  ["ECONNREFUSED", "ECONNRESET", "EPIPE"].includes(String(error.code));
