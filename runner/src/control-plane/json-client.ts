/** JSON over HTTP to one service: one try per call, answers checked, errors in its own words. */
import { z } from "zod";
import { problem, validationError } from "../../../src/protocol/common.ts";
import { ControlPlaneError, messageOf } from "./error.ts";

export interface Call {
  /** A request with a body is a POST; `content` is sent as it is. */
  body?: unknown;
  content?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal;
}

export class JsonClient {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  /** @param headers of every call: the token among them. */
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
    throw new ControlPlaneError(`${path}: unexpected answer: ${z.prettifyError(answer.error)}`, {
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
      const reason = timeout.aborted ? `no answer in ${timeoutMs / 1000} s` : messageOf(error);
      throw new ControlPlaneError(`${this.#base}: ${reason}`);
    }
  }

  /** Whatever it answers. */
  send(path: string, init: Omit<RequestInit, "headers"> & Pick<Call, "headers" | "signal">) {
    // The token goes to the configured address and nowhere else.
    const headers = { ...this.#headers, ...init.headers };
    return fetch(`${this.#base}${path}`, { ...init, headers, redirect: "manual" });
  }
}

export const errorFor = (status: number, headers: Headers, text: string) =>
  new ControlPlaneError(problemDetail(status, text), {
    status,
    retryAfterMs: retryAfterMs(headers.get("retry-after")),
  });

/** The words of a refusal, whichever of the two error bodies it has. */
export function problemDetail(status: number, text: string): string {
  const body = parseJson(text);
  const known = problem.safeParse(body);
  if (known.success) return known.data.detail || known.data.title;
  const invalid = validationError.safeParse(body);
  if (!invalid.success) return `HTTP ${status}`;
  return invalid.data.detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; ");
}

/** Seconds or a date, as RFC 9110 has it; at most a minute, since somebody may mistype it. */
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
