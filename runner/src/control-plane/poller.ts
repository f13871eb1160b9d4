/**
 * Claims jobs: one long poll at a time, while a slot is free.
 *
 * An open poll is never aborted to ask for more: it brings the next job as soon as there is one.
 * A job that the control plane had just put into an aborted poll would wait there until it is given to
 * another runner (5 s).
 */
import { EventEmitter, once } from "node:events";
import type { Backoff } from "../../../src/lib/retry.ts";
import { sleep } from "../../../src/lib/timeout.ts";
import type { Job } from "../../../src/protocol/runner.ts";
import { endsSession, messageOf } from "../lib/error.ts";
import type { Log } from "../lib/log.ts";
import { retryDelayMs } from "./json-client.ts";

export interface PollerOptions {
  /** Whether a slot is free. */
  hasRoom: () => boolean;
  claim: (signal: AbortSignal) => Promise<Job[]>;
  onJob: (job: Job) => void;
  log: Log;
  delays?: Backoff;
}

export class Poller {
  readonly #options: PollerOptions;
  readonly #delays: Backoff;
  readonly #changes = new EventEmitter();
  #paused = false;
  #poll: AbortController | undefined;

  constructor(options: PollerOptions) {
    this.#options = options;
    this.#delays = options.delays ?? { baseMs: 250, maxMs: 10_000 };
  }

  /** To be called when a slot has become free. */
  wake(): void {
    this.#changes.emit("change");
  }

  pause(): void {
    this.#paused = true;
    this.#poll?.abort();
  }

  resume(): void {
    this.#paused = false;
    this.wake();
  }

  /** Ends with the signal; rejects if the control plane has ended the session. */
  async run(signal: AbortSignal): Promise<void> {
    let failures = 0;
    while (!signal.aborted) {
      const mayClaim = !this.#paused && this.#options.hasRoom();
      try {
        if (mayClaim) await this.#claim(signal);
        else await once(this.#changes, "change", { signal });
        failures = 0;
      } catch (error) {
        if (signal.aborted) return;
        if (this.#paused) continue;
        if (endsSession(error)) throw error;
        failures++;
        await this.#waitToRetry(error, failures, signal);
      }
    }
  }

  async #claim(signal: AbortSignal): Promise<void> {
    this.#poll = new AbortController();
    const jobs = await this.#options.claim(AbortSignal.any([signal, this.#poll.signal]));
    for (const job of jobs) this.#options.onJob(job);
  }

  async #waitToRetry(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const delayMs = retryDelayMs(error, failures, this.#delays);
    this.#options.log.warn("could not claim jobs", {
      error: messageOf(error),
      retry_ms: Math.round(delayMs),
    });
    await sleep(delayMs, signal);
  }
}
