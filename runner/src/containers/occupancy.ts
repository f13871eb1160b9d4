/** The users of a container and the outcomes of its runs. */
import type { Outcome } from "../interfaces/interface.ts";

/** After this many failed runs in a row the container is to blame rather than the inputs. */
const MAX_FAILED_RUNS = 3;

export class Occupancy {
  #users = 0;
  #joins: number;
  /** Users whose result is not wanted any more. */
  #abandoned = 0;
  #shared = false;
  #failures = 0;
  /** Failed runs after which it may be dying. */
  #pendingVerdicts = 0;

  /** @param hasRun whether an adopted container was used before */
  constructor(hasRun: boolean) {
    this.#joins = hasRun ? 1 : 0;
  }

  get users(): number {
    return this.#users;
  }

  get hasBeenUsed(): boolean {
    return this.#joins > 0;
  }

  /** Whether other runs have used it before the current one. */
  get hasRunBefore(): boolean {
    return this.#joins > 1;
  }

  /**
   * Whether runs have overlapped since the container was last unused; if so, its logs belong to no single
   * run.
   */
  get isShared(): boolean {
    return this.#shared;
  }

  /** Whether a run in the container may have broken it, which will be known shortly. */
  get isSuspect(): boolean {
    return this.#pendingVerdicts > 0;
  }

  get isToBlame(): boolean {
    return this.#failures >= MAX_FAILED_RUNS;
  }

  /** Whether no result of its runs is wanted. */
  get isAbandoned(): boolean {
    return this.#abandoned >= this.#users;
  }

  join(): void {
    this.#shared = this.#users > 0;
    this.#users += 1;
    this.#joins += 1;
  }

  leave(outcome: Outcome | undefined): void {
    this.#users -= 1;
    if (outcome && !outcome.notContainersFault)
      this.#failures = outcome.finish.status === "failed" ? this.#failures + 1 : 0;
  }

  /** @returns whether it may be used again, once that is known */
  async judge(verdict: NonNullable<Outcome["verdict"]>): Promise<boolean> {
    this.#pendingVerdicts += 1;
    const judged = await verdict;
    this.#pendingVerdicts -= 1;
    return judged === "kept";
  }

  /** @returns what the run calls before it leaves */
  abandon(): () => void {
    this.#abandoned += 1;
    return () => {
      this.#abandoned -= 1;
    };
  }
}
