/**
 * Watches a container during a run: whether it breaks down, and whether it is idle although it has
 * not reported a result. One that does not respond may just be busy.
 */

import { external, type Failure, internal } from "../../lib/failure.ts";
import { parseAs } from "../bounded-json.ts";
import type { ContainerClient } from "../container-client.ts";
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
      onFailure(external(`the container broke down (${reported.status})`));
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
