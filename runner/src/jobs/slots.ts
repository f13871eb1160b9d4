/** The running jobs and the free slots of this runner. */
import type { Job } from "./job.ts";

type Running = Pick<Job, "id" | "handout" | "run" | "releaseUnstarted" | "release">;

export class Slots {
  readonly size: number;
  readonly #running = new Map<Running, Promise<void>>();
  #drainReason: string | undefined;
  #onChange: () => void = () => {};

  constructor(size: number) {
    this.size = size;
  }

  get free(): number {
    return Math.max(0, this.size - this.#running.size);
  }

  get ids(): string[] {
    return Array.from(this.#running.keys(), (job) => job.id);
  }

  get handouts(): number[] {
    return Array.from(this.#running.keys(), (job) => job.handout);
  }

  /** Called when a job has started or a slot has become free. */
  set onChange(listener: () => void) {
    this.#onChange = listener;
  }

  start(job: Running): void {
    if (this.#drainReason !== undefined) job.release(this.#drainReason);
    const run = job.run().then(() => {
      this.#running.delete(job);
      this.#onChange();
    });
    this.#running.set(job, run);
    this.#onChange();
  }

  /** Releases jobs that have not started, now and from now on; the others continue. */
  drain(reason: string): void {
    this.#drainReason = reason;
    for (const job of this.#running.keys()) job.releaseUnstarted(reason);
  }

  release(reason: string): void {
    for (const job of this.#running.keys()) job.release(reason);
  }

  /** Resolves when no job runs. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running.values());
  }
}
