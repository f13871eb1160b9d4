/**
 * JSON over HTTP to one service: one attempt per call, validated answers, errors with the service's
 * message.
 */

import type { IncomingMessage } from "node:http";
import { z } from "zod";
import { parseJson } from "../../../src/lib/json.ts";
import { type Backoff, backoffMs, type RetryOptions, retry } from "../../../src/lib/retry.ts";
import { problem, validationError } from "../../../src/protocol/common.ts";
import { ControlPlaneError, isRetryable, noAnswer } from "../lib/error.ts";
import { HttpClient, readBytes } from "../lib/http-client.ts";

/**
 * Cloudflare closes idle connections after 400 s, and few routers drop them within a minute. The timeout is
 * longer than the interval of telemetry reports, so that a run that ends after a quiet time finds a
 * connection.
 */
const IDLE_TIMEOUT_MS = 60_000;

export interface Call {
  /** The method; by default POST with a body and GET without one. */
  method?: "DELETE" | "PUT";
  body?: unknown;
  /** Sent verbatim, instead of `body`. */
  content?: string | Uint8Array;
  headers?: Record<string, string>;
  timeoutMs: number;
  signal?: AbortSignal;
  /** Parses the answer; `JSON.parse` by default. */
  parse?: (text: string) => unknown;
}

export class JsonClient {
  readonly #base: string;
  readonly #path: string;
  readonly #headers: Record<string, string>;
  readonly #http: HttpClient;

  /** @param headers sent with each call, including the token */
  constructor(base: string, headers: Record<string, string>) {
    const url = new URL(base);
    this.#base = base;
    this.#path = url.pathname.replace(/\/$/, "");
    this.#headers = headers;
    this.#http = new HttpClient(url, IDLE_TIMEOUT_MS);
  }

  /** @throws ControlPlaneError; the signal's reason */
  async call<T extends z.ZodType>(path: string, schema: T, call: Call): Promise<z.output<T>> {
    const { status, headers, body } = await this.#send(path, call);
    // Redirects are not followed either: the token is for the configured address only.
    if (status < 200 || status > 299) throw errorFor(status, headers["retry-after"], body);
    const answer = schema.safeParse(parseJson(body, call.parse));
    if (answer.success) return answer.data;
    throw new ControlPlaneError(`${path}: unexpected response: ${z.prettifyError(answer.error)}`, {
      status,
    });
  }

  async #send(path: string, call: Call) {
    const { method, body, content, headers, timeoutMs, signal } = call;
    const sent = content ?? (body === undefined ? undefined : JSON.stringify(body));
    try {
      return await this.#http.call(`${this.#path}${path}`, {
        method: method ?? (sent === undefined ? "GET" : "POST"),
        headers: { ...this.#headers, "content-type": "application/json", ...headers },
        body: sent,
        timeoutMs,
        ...(signal && { signal }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw noAnswer(this.#base, error);
    }
  }
}

const MAX_ERROR_BYTES = 10_000;

/** Returns the error of a response whose body was not read yet. */
export async function refusal(response: IncomingMessage): Promise<ControlPlaneError> {
  const { statusCode: status = 0, headers } = response;
  const text = await readBytes(response, MAX_ERROR_BYTES).catch(() => undefined);
  return errorFor(status, headers["retry-after"], text?.toString() ?? "");
}

export const errorFor = (status: number, retryAfter: string | undefined, text: string) =>
  new ControlPlaneError(problemDetail(status, text), {
    status,
    retryAfterMs: retryAfterMs(retryAfter),
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
export function retryAfterMs(header: string | undefined, now = Date.now()): number {
  if (header === undefined) return 0;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - now;
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), 60_000);
}

export type CallRetry = Omit<RetryOptions, "isRetryable" | "minDelayMs"> & { signal: AbortSignal };

export const retryCall = <T>(call: () => Promise<T>, options: CallRetry): Promise<T> =>
  retry(call, { ...options, isRetryable, minDelayMs: requestedDelayMs });

/** Returns the delay before the next call: at least the one that the server asked for. */
export const retryDelayMs = (error: unknown, failures: number, delays: Backoff): number =>
  Math.max(requestedDelayMs(error), backoffMs(failures, delays));

const requestedDelayMs = (error: unknown): number =>
  error instanceof ControlPlaneError ? error.retryAfterMs : 0;
