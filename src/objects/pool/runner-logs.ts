/**
 * The logs of runners that operators have asked for. Logs are in memory only: a pool that starts again has
 * forgotten them, and operators ask again. A runner is asked once at a time, and a log that it sends unasked
 * is dropped.
 */
import { LRUCache } from "lru-cache";
import { settlesWithin } from "../../lib/timeout.ts";
import type { RunnerLogLine } from "../../protocol/runner-log.ts";
import { LOG_ASKED_MS, type ReportedRunnerLog } from "../stubs/pool.ts";

const KEPT_MS = 600_000;
/** How long a request waits: a runner that polls has answered by then. */
const WAIT_MS = 3_000;
/** A runner is not asked again for this long. */
const FRESH_MS = 2_000;
/** The most logs that are kept: each has 64 K characters. */
const MAX_KEPT = 16;
const MAX_ASKED = 100;

interface Asked {
  at: number;
  answered: PromiseWithResolvers<void>;
}

interface Kept {
  at: number;
  lines: RunnerLogLine[];
}

export class RunnerLogs {
  readonly #asked = new LRUCache<string, Asked>({ max: MAX_ASKED });
  readonly #kept = new LRUCache<string, Kept>({ max: MAX_KEPT });

  /** @returns whether the runner must be asked */
  ask(runnerId: string, now: number): boolean {
    const kept = this.#kept.get(runnerId);
    if (kept && now - kept.at < FRESH_MS) return false;
    if (this.isWanted(runnerId, now)) return false;
    this.#asked.set(runnerId, { at: now, answered: Promise.withResolvers() });
    return true;
  }

  /** Resolves when the runner has sent its log, or is late. */
  async answered(runnerId: string): Promise<void> {
    const asked = this.#asked.get(runnerId);
    if (asked) await settlesWithin(asked.answered.promise, WAIT_MS);
  }

  isWanted(runnerId: string, now: number): boolean {
    this.#forget(now);
    const asked = this.#asked.get(runnerId);
    return asked !== undefined && now - asked.at < LOG_ASKED_MS;
  }

  /** Keeps a log that was asked for, and drops any other. */
  take(runnerId: string, lines: RunnerLogLine[], now: number): void {
    if (!this.isWanted(runnerId, now)) return;
    this.#kept.set(runnerId, { at: now, lines });
    this.#asked.get(runnerId)?.answered.resolve();
    this.#asked.delete(runnerId);
  }

  read(runnerId: string, now: number): ReportedRunnerLog {
    this.#forget(now);
    const { at, lines } = this.#kept.get(runnerId) ?? { at: null, lines: [] };
    return { asked_at: this.#asked.get(runnerId)?.at ?? null, at, lines };
  }

  /** Forgets old logs, and requests that nobody answers once that has been shown for as long. */
  #forget(now: number): void {
    for (const logs of [this.#asked, this.#kept])
      for (const [id, { at }] of logs.entries()) if (now - at >= KEPT_MS) logs.delete(id);
  }
}
