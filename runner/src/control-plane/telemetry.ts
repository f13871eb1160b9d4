/** Reports this runner's state to the control plane and learns whether it is to drain. */
import { sleep } from "../../../src/lib/timeout.ts";
import type { Load, TelemetryRequest, TelemetryResponse } from "../../../src/protocol/runner.ts";
import { endsSession, messageOf } from "../lib/error.ts";
import type { Log } from "../lib/log.ts";

export type RunnerState = Omit<TelemetryRequest, "load">;

export interface TelemetryOptions {
  intervalMs: number;
  /** The shortest interval between two reports when the running jobs change. Default: 5 s. */
  minIntervalMs?: number;
  state: () => RunnerState;
  load: () => Load;
  report: (telemetry: TelemetryRequest, signal: AbortSignal) => Promise<TelemetryResponse>;
  onAnswer: (answer: TelemetryResponse) => void;
  log: Log;
}

const MIN_INTERVAL_MS = 5_000;

/** Announcing a state must not hold up a runner that stops. */
const ANNOUNCE_TIMEOUT_MS = 2_000;

export class Telemetry {
  readonly #options: TelemetryOptions;
  #changed = new AbortController();

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  /**
   * To be called when the running jobs have changed: the next report is due, but not right after
   * the last.
   */
  wake(): void {
    // The explicit reason avoids the default one, which captures a stack trace, twice per job.
    this.#changed.abort("changed");
  }

  /** Ends with the signal; rejects if the control plane has ended the session. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, minIntervalMs = MIN_INTERVAL_MS, onAnswer, log } = this.#options;
    const soonest = Math.min(minIntervalMs, intervalMs);
    while (!signal.aborted) {
      this.#changed = new AbortController();
      const woken = AbortSignal.any([signal, this.#changed.signal]);
      try {
        onAnswer(await this.#report(this.#options.state(), signal));
      } catch (error) {
        if (signal.aborted) return;
        if (endsSession(error)) throw error;
        // The next report is the retry.
        log.warn("telemetry failed", { error: messageOf(error) });
      }
      await sleep(soonest, signal);
      await sleep(intervalMs - soonest, woken);
    }
  }

  /**
   * Announces at once that this runner takes no more jobs, so that the poll that it has just aborted gets
   * none. If the announcement is lost, such a job is handed out again after a while and the runner's presence
   * expires.
   */
  async announce(state: "draining" | "stopped"): Promise<void> {
    const signal = AbortSignal.timeout(ANNOUNCE_TIMEOUT_MS);
    await this.#report({ ...this.#options.state(), state }, signal).catch(() => undefined);
  }

  #report(state: RunnerState, signal: AbortSignal): Promise<TelemetryResponse> {
    return this.#options.report({ ...state, load: this.#options.load() }, signal);
  }
}
