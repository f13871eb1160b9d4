/**
 * Watches a container during a run: whether it breaks down, and whether it is idle although it has
 * not reported a result. One that does not respond may just be busy.
 */

import { sleep } from "../../../../src/lib/timeout.ts";
import { parseAs } from "../../../../src/run/bounded-json.ts";
import { external, type Failure, internal } from "../../../../src/run/failure.ts";
import { type ContainerClient, isConnectionError } from "../container-client.ts";
import type { Timing } from "../interface.ts";
import { type Health, health } from "./protocol.ts";
import type { WebhookEndpoint } from "./webhooks.ts";

const TIMEOUT_MS = 2_000;

/**
 * Consecutive checks that show an idle container: 10 s at 5 s intervals, during which a report may
 * still start.
 */
const IDLE_CHECKS = 3;

/** Cog's own sender of webhooks refuses NaN: such a result reaches the container's log only. */
const NO_RESULT =
  "the container is idle without having reported a result. Cog drops a result that is not valid JSON, such as one with NaN or Infinity: see the log";

export interface HealthWatchOptions {
  client: ContainerClient;
  /** The endpoint that receives the run's reports. */
  reports: WebhookEndpoint;
  maxConcurrency: number;
  pollMs: number;
  onFailure: (failure: Failure) => void;
}

export class HealthWatch {
  readonly #options: HealthWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #over = false;
  #idle = 0;
  #count = 0;

  constructor(options: HealthWatchOptions) {
    this.#options = options;
    this.#schedule();
  }

  end(): void {
    this.#over = true;
    clearTimeout(this.#timer);
  }

  /** A bare timer: most runs end before the first check. */
  #schedule(): void {
    if (!this.#over) this.#timer = setTimeout(() => void this.#check(), this.#options.pollMs);
  }

  async #check(): Promise<void> {
    const { client, reports, onFailure } = this.#options;
    const call = { method: "GET", path: "/health-check", timeoutMs: TIMEOUT_MS } as const;
    const answer = await client.call(call).catch(() => undefined);
    const reported = answer && parseAs(health, answer.body);
    if (reported?.status === "DEFUNCT" || reported?.status === "SETUP_FAILED")
      onFailure(external(`the container failed (${reported.status})`));
    const quiet = !reports.isReceiving && reports.count === this.#count;
    this.#count = reports.count;
    this.#idle = quiet && reported && this.#isIdle(reported) ? this.#idle + 1 : 0;
    if (this.#idle === IDLE_CHECKS) onFailure(internal(NO_RESULT));
    this.#schedule();
  }

  /** READY means idle only with a concurrency of 1; otherwise `concurrency.current` decides. */
  #isIdle({ status, concurrency }: Health): boolean {
    const single = this.#options.maxConcurrency === 1;
    return status === "READY" && (concurrency ? concurrency.current === 0 : single);
  }
}

/** Cog's own messages, in all versions, for a run whose process has died. */
const CRASHED =
  /^(Prediction failed for an unknown reason\. It might have run out of memory\?|Worker crashed$|Slot (socket error|dropped))/;

const BROKEN_STATUSES = ["DEFUNCT", "UNHEALTHY", "SETUP_FAILED"];

/** The timeout of a health check, and the pause between two. */
const ANSWER_TIMEOUT_MS = 2_000;
const POLL_MS = 50;

/**
 * Whether a Cog container survived a failed run: the model may have died with it. Cog up to 0.13
 * then exits, but for about 50 ms it still says READY and accepts predictions, which it fails; 0.14
 * to 0.16 say DEFUNCT and respond with 500; 0.17 and later say UNHEALTHY.
 * Never rejects. `ended`: aborted when the container has ended.
 */
export async function survivesFailure(
  error: string,
  client: ContainerClient,
  { failureWatchMs }: Pick<Timing, "failureWatchMs">,
  ended: AbortSignal,
): Promise<boolean> {
  if (CRASHED.test(error)) return false;
  const startedAt = performance.now();
  do {
    if (await isBroken(client)) return false;
  } while ((await sleep(POLL_MS, ended)) && performance.now() - startedAt < failureWatchMs);
  return !ended.aborted;
}

/** A timeout is no proof: the container may be busy with other runs. */
async function isBroken(client: ContainerClient): Promise<boolean> {
  try {
    const call = { method: "GET", path: "/health-check", timeoutMs: ANSWER_TIMEOUT_MS } as const;
    const reported = parseAs(health, (await client.call(call)).body);
    return reported !== undefined && BROKEN_STATUSES.includes(reported.status);
  } catch (error) {
    return isConnectionError(error);
  }
}
