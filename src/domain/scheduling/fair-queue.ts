/**
 * The waiting jobs of a pool, in memory: round robin over users, first in first out within a user,
 * so that ten thousand jobs of one user delay another's first by one.
 */
import type { WaitingJob } from "../../protocol/queue.ts";

/** An announced job that has not arrived by then was lost: its prediction will send it again. */
const ANNOUNCEMENT_MS = 60_000;

export class FairQueue {
  /** In the order of the users' turns. */
  readonly #users = new Map<string, Map<string, WaitingJob>>();
  readonly #announced = new Map<string, { userId: string; at: number }>();

  get empty(): boolean {
    return this.#users.size === 0;
  }

  get size(): number {
    let size = 0;
    for (const jobs of this.#users.values()) size += jobs.size;
    return size;
  }

  has(job: WaitingJob): boolean {
    return this.#users.get(job.user_id)?.has(job.object_id) ?? false;
  }

  add(job: WaitingJob): void {
    this.#announced.delete(job.object_id);
    const jobs = this.#users.get(job.user_id);
    if (jobs) jobs.set(job.object_id, job);
    else this.#users.set(job.user_id, new Map([[job.object_id, job]]));
  }

  remove(objectId: string): void {
    this.#announced.delete(objectId);
    for (const [userId, jobs] of this.#users) {
      if (jobs.delete(objectId) && jobs.size === 0) this.#users.delete(userId);
    }
  }

  /** Removes the next job; its user's next turn comes after all others'. */
  next(): WaitingJob | undefined {
    const [turn] = this.#users;
    if (!turn) return undefined;
    const [userId, jobs] = turn;
    const [first] = jobs.values();
    this.#users.delete(userId);
    if (!first) return this.next();
    jobs.delete(first.object_id);
    if (jobs.size > 0) this.#users.set(userId, jobs);
    return first;
  }

  /** A job will arrive over the dispatch queue: it counts from now on. */
  announce(job: WaitingJob, now: number): void {
    this.#announced.set(job.object_id, { userId: job.user_id, at: now });
  }

  /** How many jobs of a user wait or are on their way. */
  count(userId: string, now: number): number {
    let count = this.#users.get(userId)?.size ?? 0;
    for (const [id, announced] of this.#announced) {
      if (now - announced.at > ANNOUNCEMENT_MS) this.#announced.delete(id);
      else if (announced.userId === userId) count += 1;
    }
    return count;
  }
}
