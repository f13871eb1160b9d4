/** Posts one webhook, once: only to public addresses, and within a time limit. */
import { type Outcome, retryAfterMs } from "../domain/webhooks/delivery.ts";
import { type Bindings, settings, type WebhookSettings } from "../env.ts";
import { textStart } from "../lib/streams.ts";
import { TimeLimit } from "../lib/timeout.ts";
import { checkResolvedUrl, ResolutionFailed } from "./resolve.ts";

/** The period of the limit, as in wrangler.toml. */
export const HOST_LIMIT_SECONDS = 10;

export interface WebhookRequest {
  url: string;
  headers: Record<string, string>;
  body: string;
  /** Texts that are not quoted even if the receiver repeats them. */
  secrets?: string[];
}

/** The part of a response that is read to its end, so that the connection can be reused. */
const MAX_BODY_BYTES = 4 * 1_024;
/**
 * How long the body may take, which says why a receiver refuses. Then it is broken off: it would hold its
 * connection and keep the object awake. Most bodies come with the headers.
 */
const MAX_BODY_MS = 500;
const QUOTED_CHARS = 1_000;

const STATUS_GONE = 410;

/** The statuses with which Cloudflare's edge reports a receiver that it cannot reach. */
const EDGE_ERRORS: Record<number, string> = {
  520: "the response was not HTTP",
  521: "the connection was refused",
  522: "the connection timed out",
  523: "the address is unreachable",
  524: "the response timed out",
  525: "the TLS handshake failed",
  526: "the certificate is not valid",
  530: "the host name does not resolve",
};

/** Posts a webhook. Never throws. Whether it is delivered depends on the response's headers only. */
export async function post(request: WebhookRequest, settings: WebhookSettings): Promise<Outcome> {
  const limit = new TimeLimit(settings.timeoutMs);
  let bodyRead: Promise<unknown> = Promise.resolve();
  try {
    const url = new URL(request.url);
    const refusal = await checkResolvedUrl(url, settings, limit.signal);
    if (refusal) return { status: null, error: refusal };
    const response = await send(url, request, limit.signal);
    limit.change(MAX_BODY_MS);
    const body = textStart(MAX_BODY_BYTES, response);
    bodyRead = body.catch(() => {});
    return { ...outcomeOf(response), ...(await quoted(body, request.secrets)) };
  } catch (error) {
    return { status: null, error: textOf(error, limit, settings) };
  } finally {
    bodyRead.then(() => limit.callOff());
  }
}

const send = (
  url: URL,
  { headers, body }: WebhookRequest,
  signal: AbortSignal,
): Promise<Response> =>
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
    error: `responded with status ${status}${remarkOn(status)}`,
    ...(retryAfter !== undefined && { retryAfterMs: retryAfter }),
    ...(status === STATUS_GONE && { final: true }),
  };
}

/** Returns the beginning of the body to quote; nothing of a body that is no text. */
async function quoted(
  body: Promise<string>,
  secrets: string[] = [],
): Promise<Pick<Outcome, "response">> {
  const whole = await body.catch(() => "");
  const text = secrets.reduce((rest, secret) => rest.replaceAll(secret, "…"), whole);
  const isText = text.trim() !== "" && !text.includes("\0");
  return isText ? { response: text.slice(0, QUOTED_CHARS).toWellFormed() } : {};
}

function remarkOn(status: number): string {
  if (status === STATUS_GONE) return ": it is gone";
  if (status >= 300 && status < 400) return ": redirects are not followed";
  const edge = EDGE_ERRORS[status];
  return edge ? ` (from Cloudflare: ${edge})` : "";
}

/** Returns a text of the error for users, without internal details. */
function textOf(error: unknown, limit: TimeLimit, { timeoutMs }: WebhookSettings): string {
  if (error instanceof ResolutionFailed) return error.message;
  if (limit.isOver) return `no response within ${timeoutMs / 1_000} s`;
  // workerd has the same message for a connection that is refused, reset or closed, and for one that does not
  // speak HTTP.
  return error instanceof Error && error.message === "Network connection lost."
    ? "connection refused or closed before a response"
    : "could not connect; check the host name and certificate";
}

/** Counts a post for an account. @returns whether it may post to the host now */
export async function mayPost(env: Bindings, userId: string, url: string): Promise<boolean> {
  if (!settings(env).rateLimits) return true;
  const host = new URL(url).hostname;
  // Posts beyond an account's own share do not count against the host's limit.
  const own = await env.RATE_LIMIT_RECEIVER_SHARE.limit({ key: `${userId} ${host}` });
  return own.success && (await env.RATE_LIMIT_RECEIVER.limit({ key: host })).success;
}
