/**
 * HTTP calls to one server over kept-alive connections: a bounded time, and the whole response in memory.
 * Calls use Node's own client, since `fetch` with its streams and signals takes four times its CPU.
 */
import {
  type ClientRequest,
  Agent as HttpAgent,
  type IncomingHttpHeaders,
  request as requestPlain,
} from "node:http";
import { Agent as HttpsAgent, request as requestSecure } from "node:https";
import { urlToHttpOptions } from "node:url";
import { readText } from "./read-text.ts";

const ANY = Number.POSITIVE_INFINITY;

export interface HttpCall {
  method: "DELETE" | "GET" | "POST" | "PUT";
  headers?: Record<string, string>;
  body?: string | Uint8Array | undefined;
  /** For the whole call. */
  timeoutMs: number;
  signal?: AbortSignal;
  /** The largest response; any by default. */
  maxBytes?: number;
  /** A call that is not idempotent: it is never made twice, even if the server most likely did not see it. */
  isOnce?: boolean;
}

export interface HttpAnswer {
  status: number;
  headers: IncomingHttpHeaders;
  body: string;
}

/** The message says what the server did. */
export class UnusableResponse extends Error {}

/** Node closes a connection on a 101 without a listener, and then emits neither an answer nor an error. */
export function onUpgrade(outgoing: ClientRequest, reject: (error: UnusableResponse) => void) {
  outgoing.on("upgrade", (_answer, socket) => {
    socket.destroy();
    reject(new UnusableResponse("responded with another protocol than HTTP"));
  });
}

export class HttpClient {
  readonly #agent: HttpAgent;
  readonly #request: typeof requestPlain;
  readonly #server: ReturnType<typeof urlToHttpOptions>;

  /**
   * @param url of the server, whose path and query are not used
   * @param idleMs how long a connection is kept without a call: less than the server keeps it, so
   * that no call is sent on a connection that is being closed
   */
  constructor(url: URL, idleMs: number) {
    const options = { keepAlive: true, timeout: idleMs };
    const secure = url.protocol === "https:";
    this.#agent = secure ? new HttpsAgent(options) : new HttpAgent(options);
    this.#request = secure ? requestSecure : requestPlain;
    const { protocol, hostname, port } = urlToHttpOptions(url);
    this.#server = { protocol, hostname, port };
  }

  /**
   * Redirects are not followed. A call may be made twice, unless it says that it is not idempotent.
   * @throws the signal's reason; UnusableResponse; Error
   */
  async call(path: string, call: HttpCall): Promise<HttpAnswer> {
    const { method, headers, body, timeoutMs, signal, maxBytes = ANY, isOnce = false } = call;
    signal?.throwIfAborted();
    const { promise, resolve, reject } = Promise.withResolvers<HttpAnswer>();
    const outgoing = this.#request({ ...this.#server, agent: this.#agent, path, method, headers });
    let given = false;
    const giveUp = (reason: unknown) => {
      given = true;
      reject(reason);
      outgoing.destroy();
    };
    const abort = () => giveUp(signal?.reason);
    const late = () => giveUp(new Error(`no answer within ${timeoutMs / 1000} s`));
    const timer = setTimeout(late, timeoutMs);
    signal?.addEventListener("abort", abort, { once: true });
    outgoing.on("error", (error) => {
      if (!given && !isOnce && isStale(outgoing, error)) resolve(this.call(path, call));
      else reject(error);
    });
    onUpgrade(outgoing, reject);
    outgoing.on("response", (incoming) => {
      const { statusCode: status = 0, headers } = incoming;
      readText(incoming, maxBytes).then((body) => {
        if (body !== undefined) resolve({ status, headers, body });
        else reject(new UnusableResponse("responded with too many bytes"));
      }, reject);
    });
    outgoing.end(body);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", abort);
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Whether the server has most likely closed the connection while it was idle, before it saw the call. */
const isStale = (outgoing: ClientRequest, error: Error): boolean =>
  outgoing.reusedSocket && "code" in error && error.code === "ECONNRESET";
