/** Posts spans to the operator's collector: OTLP over HTTP with JSON. */
import { retryAfterMs } from "../domain/webhooks/delivery.ts";
import type { TraceSettings } from "../env-traces.ts";
import { textUpTo } from "../lib/streams.ts";
import { TimeLimit } from "../lib/timeout.ts";
import { exportRequest, exportResponse, type Span } from "../protocol/traces.ts";

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 64 * 1_024;
const TOO_MANY_REQUESTS = 429;

/** A failure that a later attempt may not have. */
export class CollectorBusy extends Error {
  /** How long the collector asks to wait. */
  readonly retryAfterMs: number | undefined;

  constructor(message: string, retryAfterMs?: number) {
    super(message);
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * @returns how many spans the collector has rejected
 * @throws CollectorBusy; Error for a refusal that would be repeated
 */
export async function postSpans(settings: TraceSettings, spans: Span[]): Promise<number> {
  const limit = new TimeLimit(TIMEOUT_MS);
  try {
    const response = await send(settings, spans, limit);
    const text = await textUpTo(MAX_RESPONSE_BYTES, response).catch(() => undefined);
    const { status, ok, headers } = response;
    if (ok) return rejectedIn(text ?? "");
    const message = `the collector responded with ${status}`;
    if (status !== TOO_MANY_REQUESTS && status < 500) throw new Error(message);
    throw new CollectorBusy(message, retryAfterMs(headers.get("retry-after"), Date.now()));
  } finally {
    limit.callOff();
  }
}

async function send(
  { url, headers }: TraceSettings,
  spans: Span[],
  limit: TimeLimit,
): Promise<Response> {
  try {
    return await fetch(url, {
      method: "POST",
      headers: { "user-agent": "Auspex", ...headers, "content-type": "application/json" },
      body: JSON.stringify(exportRequest(spans)),
      redirect: "manual",
      signal: limit.signal,
    });
  } catch (error) {
    const reason = limit.isOver ? `no response within ${TIMEOUT_MS / 1_000} s` : String(error);
    throw new CollectorBusy(`the collector cannot be reached: ${reason}`);
  }
}

/** Collectors may answer with any text: what they have accepted counts as accepted. */
function rejectedIn(text: string): number {
  try {
    return exportResponse.parse(JSON.parse(text)).partialSuccess?.rejectedSpans ?? 0;
  } catch {
    return 0;
  }
}
