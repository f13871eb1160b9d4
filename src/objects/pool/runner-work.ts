/**
 * Predictions that a runner was handed and has not ended yet, and whose they are, for operators. Snapshots
 * have only the numbers of hand-outs.
 */
import { MAX_JOBS, type RunnerSnapshot } from "../../protocol/runner-state.ts";
import type { RunnerJob } from "../stubs/pool.ts";

/** The part of a hand-out that is kept. */
interface Given {
  number: number;
  job: Pick<RunnerJob, "user_id" | "model">;
  offered: { job: Pick<RunnerJob, "prediction_id"> };
}

/** The most jobs that are stored: a row of a thousand would take 200 KB. */
const MAX_STORED = 200;

export class RunnerWork {
  readonly #jobs: Map<number, RunnerJob>;

  constructor(jobs: readonly RunnerJob[] = []) {
    this.#jobs = new Map(jobs.map((job) => [job.number, job]));
  }

  add({ number, job, offered }: Given, at: number): void {
    const { user_id, model } = job;
    const { prediction_id } = offered.job;
    this.#jobs.set(number, { number, prediction_id, user_id, model, at });
    // The oldest job was never reported: a runner cannot have more than these.
    const [oldest] = this.#jobs.keys();
    if (this.#jobs.size > 2 * MAX_JOBS && oldest !== undefined) this.#jobs.delete(oldest);
  }

  forget(number: number): void {
    this.#jobs.delete(number);
  }

  reported({ handed, jobs }: Pick<RunnerSnapshot, "handed" | "jobs">): void {
    if (this.#jobs.size === 0) return;
    const still = new Set(jobs);
    for (const number of this.#jobs.keys())
      if (number <= handed && !still.has(number)) this.#jobs.delete(number);
  }

  /** Returns the jobs with these numbers, in the order in which they were handed out. */
  of(numbers: readonly number[]): RunnerJob[] {
    const wanted = new Set(numbers);
    return [...this.#jobs.values()].filter(({ number }) => wanted.has(number));
  }

  get stored(): RunnerJob[] {
    return [...this.#jobs.values()].slice(0, MAX_STORED);
  }
}
