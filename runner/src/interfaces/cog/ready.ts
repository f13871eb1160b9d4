/** Waits until a Cog server is ready, and reports the logs of its setup until then. */

import { sleep } from "../../../../src/lib/timeout.ts";
import { parseAs } from "../../../../src/run/bounded-json.ts";
import { external } from "../../../../src/run/failure.ts";
import { type Answer, type ContainerClient, isConnectionError } from "../container-client.ts";
import {
  apiKeyRequired,
  concurrencyTooHigh,
  rejectsConcurrency,
  type Timing,
} from "../interface.ts";
import type { ListenWatch } from "../listen-watch.ts";
import { health } from "./protocol.ts";

/**
 * The timeout of an answer: a healthy container answers at once; a container on a busy machine gets some
 * time.
 */
const ANSWER_MS = 2_000;
/** The health check is more frequent in the first second, in which most quick models are ready. */
const EAGER_MS = 1_000;
const EAGER_POLL_MS = 20;
/** The end of a failed setup's logs says why. The setup events have all of it. */
const MAX_SETUP_LOG_CHARS = 8_000;

/** Returns the environment variables that Cog's server reads. */
export const cogEnvironment = (maxConcurrency: number): Record<string, string> => ({
  // Seconds between two webhooks with logs; below 0.1 Cog up to 0.16 drops events.
  COG_THROTTLE_RESPONSE_INTERVAL: "0.1",
  // Unset for 1: models that are not async reject it.
  ...(maxConcurrency > 1 ? { COG_MAX_CONCURRENCY: String(maxConcurrency) } : {}),
});

export interface Wait {
  maxConcurrency: number;
  report: (logs: string) => void;
  end: AbortSignal;
  watch?: ListenWatch | undefined;
}

/** @throws Failure if it will never be ready, or takes fewer runs; the signal's reason */
export async function waitUntilReady(
  client: ContainerClient,
  { readinessPollMs }: Pick<Timing, "readinessPollMs">,
  { maxConcurrency, report, end, watch }: Wait,
): Promise<void> {
  const startedAt = performance.now();
  let reportedChars = 0;
  for (;;) {
    end.throwIfAborted();
    const answer = await client
      .call({ method: "GET", path: "/health-check", timeoutMs: ANSWER_MS })
      .catch((error: unknown) => (isConnectionError(error) ? watch?.refused() : undefined));
    if (answer) watch?.answered();
    const { status, logs, max } = answer ? readHealth(answer) : STARTING;
    if (logs.length > reportedChars) report(logs.slice(reportedChars));
    reportedChars = Math.max(reportedChars, logs.length);
    if (status === "READY" || status === "BUSY") {
      if (max !== undefined && max < maxConcurrency) throw concurrencyTooHigh(maxConcurrency, max);
      return;
    }
    if (status === "SETUP_FAILED" || status === "DEFUNCT") {
      const setupLogs = logs.slice(-MAX_SETUP_LOG_CHARS).trimEnd();
      const why = { setupLogs };
      if (maxConcurrency > 1 && rejectsConcurrency(logs))
        throw concurrencyTooHigh(maxConcurrency, undefined, why);
      throw external("the model's setup failed", why);
    }
    const eager = performance.now() - startedAt < EAGER_MS;
    await sleep(eager ? Math.min(EAGER_POLL_MS, readinessPollMs) : readinessPollMs, end);
  }
}

interface ServerHealth {
  status: string;
  logs: string;
  /** The concurrency limit, if reported. */
  max?: number | undefined;
}

const STARTING: ServerHealth = { status: "STARTING", logs: "" };

function readHealth({ status, body }: Answer): ServerHealth {
  if (status === 404) {
    throw external(
      'the container has no /health-check: it is not a Cog container, or older than Cog 0.7. If it speaks OpenAI\'s API, publish it with "interface": "vendora"',
    );
  }
  if (status === 401 || status === 403) throw apiKeyRequired(`/health-check with ${status}`);
  const parsed = status === 200 ? parseAs(health, body) : undefined;
  if (status === 200 && !parsed)
    throw external("the container's /health-check response is not Cog's");
  const { setup, concurrency } = parsed ?? {};
  const max = concurrency?.max ?? undefined;
  return { status: parsed?.status ?? "STARTING", logs: setup?.logs ?? "", max };
}
