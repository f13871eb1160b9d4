/**
 * Sends a snapshot of this runner to the pool whenever its state changes: at once, then at most five times a
 * second, and without that limit while jobs wait for the room that a change may have made. One snapshot is on
 * its way at a time. Polls bring snapshots, too, and a state that a poll has reported is not sent again. A
 * runner that is full does not poll, and sends snapshots to show that it is there.
 */
import { backoffMs } from "../../../src/lib/retry.ts";
import { sleep } from "../../../src/lib/timeout.ts";
import type { SnapshotResponse } from "../../../src/protocol/runner-state.ts";
import { endsSession, messageOf } from "../lib/error.ts";
import type { Log } from "../lib/log.ts";

export interface SnapshotsOptions {
  /** Sends how things are at that moment. */
  send: (signal: AbortSignal) => Promise<SnapshotResponse>;
  log: Log;
  /** The shortest time between two, and the longest without a change. Default: 200 ms, 30 s. */
  intervalMs?: number;
  keepAliveMs?: number;
}

const INTERVAL_MS = 200;
const KEEP_ALIVE_MS = 30_000;
const RETRY = { baseMs: 500, maxMs: 10_000 };

export class Snapshots {
  readonly #options: SnapshotsOptions;
  #isDue = false;
  #reportedAt = performance.now();
  #woken = new AbortController();

  constructor(options: SnapshotsOptions) {
    this.#options = options;
  }

  /** To be called when something has changed. */
  changed(): void {
    this.#isDue = true;
    // The explicit reason avoids the default one, which captures a stack trace, twice per job.
    this.#woken.abort("changed");
  }

  /** Call this when a poll is about to report the state. */
  reported(): void {
    this.#isDue = false;
    this.#reportedAt = performance.now();
  }

  /** Ends with the signal; rejects if the control plane has ended the session. */
  async run(signal: AbortSignal): Promise<void> {
    const { send, log, intervalMs = INTERVAL_MS } = this.#options;
    let failures = 0;
    while (await this.#whenDue(signal)) {
      this.reported();
      try {
        const { wanted } = await send(signal);
        failures = 0;
        if (!wanted) await sleep(intervalMs, signal);
      } catch (error) {
        if (signal.aborted) return;
        if (endsSession(error)) throw error;
        log.warn("could not report to the pool", { error: messageOf(error) });
        this.changed();
        failures += 1;
        await sleep(backoffMs(failures, RETRY), signal);
      }
    }
  }

  /** @returns false when the signal is aborted */
  async #whenDue(signal: AbortSignal): Promise<boolean> {
    const { keepAliveMs = KEEP_ALIVE_MS } = this.#options;
    while (!signal.aborted) {
      const left = this.#reportedAt + keepAliveMs - performance.now();
      if (this.#isDue || left <= 0) return true;
      this.#woken = new AbortController();
      await sleep(left, AbortSignal.any([signal, this.#woken.signal]));
    }
    return false;
  }
}
