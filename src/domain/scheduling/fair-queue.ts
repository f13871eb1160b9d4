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

  /** @param hardware how many of this class; by default of all */
  size(hardware?: string): number {
    let size = 0;
    for (const jobs of this.#users.values())
      for (const job of jobs.values())
        if (hardware === undefined || job.hardware === hardware) size += 1;
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

  /**
   * Removes the next job; its user's next turn comes after all others'.
   * @param isServed whether there is a runner for it now: the others keep their places. By default for all
   */
  next(isServed: (job: WaitingJob) => boolean = () => true): WaitingJob | undefined {
    for (const [userId, jobs] of this.#users)
      for (const job of jobs.values()) {
        if (!isServed(job)) continue;
        jobs.delete(job.object_id);
        this.#users.delete(userId);
        if (jobs.size > 0) this.#users.set(userId, jobs);
        return job;
      }
    return undefined;
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
