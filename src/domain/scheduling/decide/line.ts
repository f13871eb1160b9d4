/** The jobs that wait in a pool. */
import { ClassLine, type Job } from "./class-line.ts";
import type { Ask } from "./types.ts";

/** The containers of one key and class serve the same jobs. */
export const laneOf = ({ hardware, key }: { hardware: string; key: string }): string =>
  `${hardware} ${key}`;

export class Line {
  /** Lines of the classes, in the order of their turns. */
  readonly classes = new Map<string, ClassLine>();
  readonly #jobs = new Map<string, Job>();
  readonly #lanes = new Map<string, Set<Job>>();
  #places = 0;

  get size(): number {
    return this.#jobs.size;
  }

  get(id: string): Job | undefined {
    return this.#jobs.get(id);
  }

  /** Asks in the order in which they came. */
  *asks(): Generator<Ask> {
    for (const { ask } of this.#jobs.values()) yield ask;
  }

  /** Jobs by the containers that they wait for, as they came. */
  get lanes(): ReadonlyMap<string, ReadonlySet<Job>> {
    return this.#lanes;
  }

  /** @returns false if the job is there: it keeps its place */
  add(ask: Ask): boolean {
    if (this.#jobs.has(ask.id)) return false;
    this.#places += 1;
    const job: Job = {
      ask,
      lane: laneOf(ask),
      place: this.#places,
      overtaken: 0,
      first_since: undefined,
      held_until: undefined,
      declined: new Map(),
    };
    this.#put(job, false);
    return true;
  }

  /** Puts a job that was taken out back to its place. */
  giveBack(job: Job): void {
    if (!this.#jobs.has(job.ask.id)) this.#put(job, true);
  }

  remove(id: string): Job | undefined {
    const job = this.#jobs.get(id);
    if (!job) return undefined;
    this.#jobs.delete(id);
    const jobs = this.#lanes.get(job.lane);
    jobs?.delete(job);
    if (jobs?.size === 0) this.#lanes.delete(job.lane);
    const line = this.classes.get(job.ask.hardware);
    line?.remove(job);
    if (line?.size === 0) this.classes.delete(job.ask.hardware);
    return job;
  }

  /** Puts the next turn of a job's account, and that of its class, after all others. */
  passTurn({ account, hardware }: Ask): void {
    for (const line of this.classes.values()) line.passTurn(account);
    const line = this.classes.get(hardware);
    if (!line) return;
    this.classes.delete(hardware);
    this.classes.set(hardware, line);
  }

  #put(job: Job, returns: boolean): void {
    const { id, hardware, gpus } = job.ask;
    this.#jobs.set(id, job);
    const jobs = this.#lanes.get(job.lane);
    if (jobs) jobs.add(job);
    else this.#lanes.set(job.lane, new Set([job]));
    let line = this.classes.get(hardware);
    if (!line) {
      line = new ClassLine(gpus);
      this.classes.set(hardware, line);
    }
    line.add(job, returns);
  }
}
