/**
 * HTTP to a container. Calls use kept-alive connections, bounded answers and timeouts. Streams have
 * a connection each and no timeout but the caller's signal.
 */
import { Agent, type ClientRequest, type IncomingMessage, request } from "node:http";
import { external, type Failure } from "../containers/failure.ts";

/**
 * Servers close idle connections after 5 s (uvicorn, Node). This side closes them earlier, so that
 * no request is sent on a connection that is being closed.
 */
const IDLE_TIMEOUT_MS = 3_000;
const MAX_ANSWER_BYTES = 4 * 1024 ** 2;

export interface Call {
  method: "GET" | "POST" | "PUT";
  path: string;
  headers?: Record<string, string>;
  body?: string;
  /** For the whole call. */
  timeoutMs: number;
}

export interface Answer {
  status: number;
  body: string;
}

export class ContainerClient {
  readonly #address: URL;
  readonly #agent = new Agent({ keepAlive: true, timeout: IDLE_TIMEOUT_MS });

  constructor(address: URL) {
    this.#address = address;
  }

  call(call: Call): Promise<Answer> {
    const { method, path, headers, body, timeoutMs } = call;
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    const outgoing = request(new URL(path, this.#address), {
      method,
      agent: this.#agent,
      headers: { ...headers, "content-length": Buffer.byteLength(body ?? "") },
      signal: AbortSignal.timeout(timeoutMs),
    });
    outgoing.on("error", (error) => {
      // Most likely closed by the server while idle, before it saw this call. All calls are
      // idempotent.
      const stale = outgoing.reusedSocket && "code" in error && error.code === "ECONNRESET";
      if (stale) resolve(this.call(call));
      else reject(error);
    });
    refuseUpgrade(outgoing, reject);
    outgoing.on("response", (incoming) => {
      const status = incoming.statusCode ?? 0;
      readBounded(incoming, MAX_ANSWER_BYTES).then((text) => {
        if (text === undefined) reject(external("the container's response is too large"));
        else resolve({ status, body: text });
      }, reject);
    });
    outgoing.end(body);
    return promise;
  }

  /**
   * Sends JSON once, since a run must not start twice. Resolves with the head of the answer,
   * however long that takes; the signal closes the connection, also while the body is read.
   */
  stream(path: string, body: string, signal: AbortSignal): Promise<IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    const outgoing = request(new URL(path, this.#address), {
      method: "POST",
      agent: false,
      headers: {
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
        accept: "application/json, text/event-stream",
      },
      signal,
    });
    outgoing.on("error", reject);
    refuseUpgrade(outgoing, reject);
    outgoing.on("response", resolve);
    outgoing.end(body);
    return promise;
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Without a listener a 101 closes the connection and neither an answer nor an error is emitted. */
function refuseUpgrade(outgoing: ClientRequest, reject: (failure: Failure) => void): void {
  outgoing.on("upgrade", (_answer, socket) => {
    socket.destroy();
    reject(external("the container responded with another protocol than HTTP"));
  });
}

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
