/**
 * The waiting jobs of a pool, in memory: round robin over accounts, first in first out within
 * one, so that ten thousand jobs of one account delay another's first by one.
 */
import type { WaitingJob } from "../../protocol/queue.ts";

/** An announced job that never came was lost on its way: its prediction will send it again. */
const ANNOUNCED_MS = 60_000;

export class FairQueue {
  /** In the order in which the accounts' turns come. */
  readonly #accounts = new Map<string, Map<string, WaitingJob>>();
  readonly #announced = new Map<string, { account: string; at: number }>();

  get empty(): boolean {
    return this.#accounts.size === 0;
  }

  get size(): number {
    let size = 0;
    for (const jobs of this.#accounts.values()) size += jobs.size;
    return size;
  }

  has(job: WaitingJob): boolean {
    return this.#accounts.get(job.user_id)?.has(job.object_id) ?? false;
  }

  add(job: WaitingJob): void {
    this.#announced.delete(job.object_id);
    const jobs = this.#accounts.get(job.user_id);
    if (jobs) jobs.set(job.object_id, job);
    else this.#accounts.set(job.user_id, new Map([[job.object_id, job]]));
  }

  remove(objectId: string): void {
    this.#announced.delete(objectId);
    for (const [account, jobs] of this.#accounts) {
      if (jobs.delete(objectId) && jobs.size === 0) this.#accounts.delete(account);
    }
  }

  /** Takes the next job out; its account's next turn comes after all the others'. */
  next(): WaitingJob | undefined {
    const [turn] = this.#accounts;
    if (!turn) return undefined;
    const [account, jobs] = turn;
    const [first] = jobs.values();
    this.#accounts.delete(account);
    if (!first) return this.next();
    jobs.delete(first.object_id);
    if (jobs.size > 0) this.#accounts.set(account, jobs);
    return first;
  }

  /** A job that will come over the queue: counted from now on. */
  announce(job: WaitingJob, now: number): void {
    this.#announced.set(job.object_id, { account: job.user_id, at: now });
  }

  /** How many of an account wait or are on their way. */
  count(account: string, now: number): number {
    let count = this.#accounts.get(account)?.size ?? 0;
    for (const [id, announced] of this.#announced) {
      if (now - announced.at > ANNOUNCED_MS) this.#announced.delete(id);
      else if (announced.account === account) count += 1;
    }
    return count;
  }
}
