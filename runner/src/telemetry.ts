/** Tells the control plane how this runner is, and learns whether it is to drain. */
import { setTimeout as sleep } from "node:timers/promises";
import type { TelemetryRequest, TelemetryResponse } from "../../src/protocol/runner.ts";
import { endsSession, messageOf } from "./error.ts";
import type { Load } from "./hardware.ts";
import type { Log } from "./log.ts";

export type RunnerState = Omit<TelemetryRequest, "load">;

export interface TelemetryOptions {
  intervalMs: number;
  state: () => RunnerState;
  load: () => Promise<Load>;
  report: (telemetry: TelemetryRequest, signal: AbortSignal) => Promise<TelemetryResponse>;
  onAnswer: (answer: TelemetryResponse) => void;
  log: Log;
}

/** The last word of a runner that stops must not hold it up. */
const FAREWELL_TIMEOUT_MS = 2_000;

export class Telemetry {
  readonly #options: TelemetryOptions;

  constructor(options: TelemetryOptions) {
    this.#options = options;
  }

  /** Ends with the signal; rejects when the control plane says that it is over. */
  async run(signal: AbortSignal): Promise<void> {
    const { intervalMs, onAnswer, log } = this.#options;
    while (!signal.aborted) {
      try {
        onAnswer(await this.#report(this.#options.state(), signal));
      } catch (error) {
        if (signal.aborted) return;
        if (endsSession(error)) throw error;
        // The next beat is the retry.
        log.warn("telemetry failed", { error: messageOf(error) });
      }
      await sleep(intervalMs, undefined, { signal }).catch(() => undefined);
    }
  }

  /** Says that this runner has stopped. Nothing depends on it: presence ends by itself. */
  async farewell(): Promise<void> {
    const state = { ...this.#options.state(), state: "stopped" as const };
    await this.#report(state, AbortSignal.timeout(FAREWELL_TIMEOUT_MS)).catch(() => undefined);
  }

  async #report(state: RunnerState, signal: AbortSignal): Promise<TelemetryResponse> {
    return this.#options.report({ ...state, load: await this.#options.load() }, signal);
  }
}
