/**
 * JSON over HTTP to one service: one attempt per call, validated answers, errors with the service's
 * message.
 */
import { z } from "zod";
import { problem, validationError } from "../../../src/protocol/common.ts";
import { ControlPlaneError, messageOf } from "./error.ts";

export interface Call {
  /** A request with a body is a POST; `content` is sent verbatim. */
  body?: unknown;
  content?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal;
}

export class JsonClient {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  /** @param headers sent with every call, including the token */
  constructor(base: string, headers: Record<string, string>) {
    this.#base = base;
    this.#headers = headers;
  }

  /** @throws ControlPlaneError; the signal's reason */
  async call<T extends z.ZodType>(path: string, schema: T, call: Call): Promise<z.output<T>> {
    const { status, headers, text } = await this.#fetch(path, call);
    if (status < 200 || status > 299) throw errorFor(status, headers, text);
    const answer = schema.safeParse(parseJson(text));
    if (answer.success) return answer.data;
    throw new ControlPlaneError(`${path}: unexpected response: ${z.prettifyError(answer.error)}`, {
      status,
    });
  }

  async #fetch(path: string, { body, content, headers, timeoutMs, signal }: Call) {
    const sent = content ?? (body === undefined ? undefined : JSON.stringify(body));
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const response = await this.send(path, {
        method: sent === undefined ? "GET" : "POST",
        headers: { "content-type": "application/json", ...headers },
        body: sent,
        signal: AbortSignal.any([signal, timeout]),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      signal.throwIfAborted();
      const reason = timeout.aborted ? `no answer within ${timeoutMs / 1000} s` : messageOf(error);
      throw new ControlPlaneError(`${this.#base}: ${reason}`);
    }
  }

  /** Returns the answer, whatever its status. */
  send(path: string, init: Omit<RequestInit, "headers"> & Pick<Call, "headers" | "signal">) {
    // The token is sent to the configured address only, so redirects are not followed.
    const headers = { ...this.#headers, ...init.headers };
    return fetch(`${this.#base}${path}`, { ...init, headers, redirect: "manual" });
  }
}

export const errorFor = (status: number, headers: Headers, text: string) =>
  new ControlPlaneError(problemDetail(status, text), {
    status,
    retryAfterMs: retryAfterMs(headers.get("retry-after")),
  });

/** The message of an error response, in either of the two error formats. */
export function problemDetail(status: number, text: string): string {
  const body = parseJson(text);
  const known = problem.safeParse(body);
  if (known.success) return known.data.detail || known.data.title;
  const invalid = validationError.safeParse(body);
  if (!invalid.success) return `HTTP ${status}`;
  return invalid.data.detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
}

/** Seconds or a date (RFC 9110). At most a minute, in case of a mistyped date. */
export function retryAfterMs(header: string | null, now = Date.now()): number {
  if (header === null) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), 60_000);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
