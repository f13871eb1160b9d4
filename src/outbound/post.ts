/** Posts one webhook, once: never to the inside of a network, and never for longer than it may take. */
import type { Outcome } from "../domain/webhooks/outcome.ts";
import { retryAfterMs } from "../domain/webhooks/retry-after.ts";
import type { WebhookSettings } from "../env.ts";
import { textUpTo } from "../lib/bounded-text.ts";
import { TimeLimit } from "../lib/time-limit.ts";
import { refusalNow } from "./refusal.ts";
import { Unresolved } from "./resolve.ts";

export interface Letter {
  url: string;
  headers: Record<string, string>;
  /** JSON. */
  body: string;
}

/** A short body that is read to its end leaves the connection to the next webhook. */
const MAX_BODY_BYTES = 4 * 1_024;
/** One that has not ended by then is broken off: it would hold its connection, and the object awake. */
const MAX_BODY_MS = 500;

const GONE = 410;

/** What Cloudflare's edge answers in the place of a receiver that it cannot reach, in production. */
const EDGE_ERRORS: Record<number, string> = {
  520: "no answer that is HTTP",
  521: "the connection was refused",
  522: "no connection in time",
  523: "no way to its address",
  524: "no answer in time",
  525: "the TLS handshake failed",
  526: "its certificate is not valid",
  530: "its name or address is not served",
};

/** Never throws. The outcome is known with the headers of the answer, whatever its body does. */
export async function post(letter: Letter, settings: WebhookSettings): Promise<Outcome> {
  const limit = new TimeLimit(settings.timeoutMs);
  let rest: Promise<unknown> = Promise.resolve();
  try {
    const url = new URL(letter.url);
    const refusal = await refusalNow(url, settings, limit.signal);
    if (refusal) return { status: null, error: refusal };
    const response = await send(url, letter, limit.signal);
    limit.change(MAX_BODY_MS);
    rest = textUpTo(MAX_BODY_BYTES, response).catch(() => {});
    return outcomeOf(response);
  } catch (error) {
    return { status: null, error: textOf(error, limit, settings) };
  } finally {
    rest.then(() => limit.callOff());
  }
}

const send = (url: URL, { headers, body }: Letter, signal: AbortSignal): Promise<Response> =>
  fetch(url, {
    method: "POST",
    headers: {
      ...headers,
      "content-type": "application/json",
      "user-agent": "Auspex-Webhooks/1.0",
    },
    body,
    redirect: "manual",
    signal,
  });

function outcomeOf({ status, ok, headers }: Response): Outcome {
  if (ok) return { status, error: null };
  const retryAfter = retryAfterMs(headers.get("retry-after"), Date.now());
  return {
    status,
    error: `answered with status ${status}${remarkOn(status)}`,
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
    ...(status === GONE && { final: true }),
  };
}

function remarkOn(status: number): string {
  if (status === GONE) return ": it wants no more";
  if (status >= 300 && status < 400) return ": redirects are not followed";
  const edge = EDGE_ERRORS[status];
  return edge ? ` (of Cloudflare: ${edge})` : "";
}

/** In words that say what happened, and nothing of our inside. */
function textOf(error: unknown, limit: TimeLimit, { timeoutMs }: WebhookSettings): string {
  if (error instanceof Unresolved) return error.message;
  if (limit.isOver) return `no answer within ${timeoutMs / 1_000} s`;
  // workerd has one text for a connection that is refused, reset, closed, or speaks no HTTP.
  return error instanceof Error && error.message === "Network connection lost."
    ? "the connection was refused, or broke before there was an answer"
    : "no connection: look at its name, and at its certificate";
}
