/** Why runners have declined a job. */
import { LRUCache } from "lru-cache";

/** Jobs whose declines are kept. */
const MAX_JOBS = 10_000;

export class Declines {
  readonly #jobs = new LRUCache<string, Map<string, string>>({ max: MAX_JOBS });

  add(jobId: string, runnerId: string, reason: string): void {
    const all = this.#jobs.get(jobId) ?? new Map<string, string>();
    all.set(runnerId, reason);
    this.#jobs.set(jobId, all);
  }

  reason(jobId: string, runnerId: string): string | undefined {
    return this.#jobs.get(jobId)?.get(runnerId);
  }

  forget(jobId: string): void {
    this.#jobs.delete(jobId);
  }
}
