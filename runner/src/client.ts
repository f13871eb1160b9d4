/** The control plane as the runner sees it: one typed call per endpoint, one try per call. */
import { z } from "zod";
import { downFrame } from "../../src/protocol/channel.ts";
import { problem, validationError } from "../../src/protocol/common.ts";
import {
  type ClaimRequest,
  claimResponse,
  inputResponse,
  LEASE_HEADER,
  type SessionRequest,
  sessionResponse,
  type TelemetryRequest,
  telemetryResponse,
} from "../../src/protocol/runner.ts";
import { ControlPlaneError, messageOf } from "./error.ts";
import { VERSION } from "./version.ts";

export interface ControlPlaneOptions {
  url: string;
  token: string;
}

/** Where a channel goes and what it shows at the door. */
export interface ChannelAddress {
  url: string;
  headers: Record<string, string>;
}

interface Call {
  /** A request with a body is a POST; `text` is JSON already. */
  body?: unknown;
  text?: string;
  headers?: Record<string, string>;
  timeoutMs: number;
  signal: AbortSignal;
}

const CALL_TIMEOUT_MS = 15_000;
/** Up to 10 MB over a slow line. */
const INPUT_TIMEOUT_MS = 120_000;
/** A long poll ends by itself; what is later than this never comes. */
const POLL_GRACE_MS = 10_000;

export class ControlPlane {
  readonly #base: string;
  readonly #headers: Record<string, string>;

  constructor({ url, token }: ControlPlaneOptions) {
    this.#base = url.replace(/\/+$/, "");
    this.#headers = {
      authorization: `Bearer ${token}`,
      // Answers are small and waited for: to compress one costs more than to send it.
      "accept-encoding": "identity",
      "user-agent": `auspex-runner/${VERSION}`,
    };
  }

  register(body: SessionRequest, signal: AbortSignal) {
    const call = { body, timeoutMs: CALL_TIMEOUT_MS, signal };
    return this.#call("/v1/runner/sessions", sessionResponse, call);
  }

  async claim(body: ClaimRequest, pollSeconds: number, signal: AbortSignal) {
    const call = { body, timeoutMs: pollSeconds * 1000 + POLL_GRACE_MS, signal };
    return (await this.#call("/v1/runner/jobs/claim", claimResponse, call)).jobs;
  }

  async input(lease: string, signal: AbortSignal) {
    const call = { headers: { [LEASE_HEADER]: lease }, timeoutMs: INPUT_TIMEOUT_MS, signal };
    return (await this.#call("/v1/runner/input", inputResponse, call)).input;
  }

  report(body: TelemetryRequest, signal: AbortSignal) {
    const call = { body, timeoutMs: CALL_TIMEOUT_MS, signal };
    return this.#call("/v1/runner/telemetry", telemetryResponse, call);
  }

  /** The only frame of a short run, as text; the answer is the channel's. */
  finish(lease: string, frame: string, signal: AbortSignal) {
    const call = {
      text: frame,
      headers: { [LEASE_HEADER]: lease },
      timeoutMs: CALL_TIMEOUT_MS,
      signal,
    };
    return this.#call("/v1/runner/report", downFrame, call);
  }

  channel(lease: string): ChannelAddress {
    return {
      url: `${this.#base.replace(/^http/, "ws")}/v1/runner/channel`,
      headers: { ...this.#headers, [LEASE_HEADER]: lease },
    };
  }

  async #call<T extends z.ZodType>(path: string, schema: T, call: Call): Promise<z.output<T>> {
    const { status, headers, text } = await this.#fetch(path, call);
    if (status < 200 || status > 299) {
      throw new ControlPlaneError(problemDetail(status, text), {
        status,
        retryAfterMs: retryAfterMs(headers.get("retry-after")),
      });
    }
    const answer = schema.safeParse(parseJson(text));
    if (answer.success) return answer.data;
    throw new ControlPlaneError(`${path}: unexpected answer: ${z.prettifyError(answer.error)}`, {
      status,
    });
  }

  async #fetch(path: string, { body, text, headers, timeoutMs, signal }: Call) {
    const content = text ?? (body === undefined ? undefined : JSON.stringify(body));
    const timeout = AbortSignal.timeout(timeoutMs);
    try {
      const response = await fetch(`${this.#base}${path}`, {
        method: content === undefined ? "GET" : "POST",
        headers: { ...this.#headers, "content-type": "application/json", ...headers },
        body: content,
        // The token goes to the configured address and nowhere else.
        redirect: "manual",
        signal: AbortSignal.any([signal, timeout]),
      });
      return { status: response.status, headers: response.headers, text: await response.text() };
    } catch (error) {
      signal.throwIfAborted();
      const reason = timeout.aborted ? `no answer in ${timeoutMs / 1000} s` : messageOf(error);
      throw new ControlPlaneError(`${this.#base}: ${reason}`);
    }
  }
}

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
