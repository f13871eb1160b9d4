/** Makes the snapshots of a runner. Receipts and declined jobs are repeated until the pool has them. */
import {
  type Declined,
  MAX_REPORTED,
  type RunnerSnapshot,
} from "../../../src/protocol/runner-state.ts";
import type { Executor } from "./executor.ts";
import type { Slots } from "./slots.ts";

const MAX_RECEIPTS = 1_000;

export interface SnapshotSourceOptions {
  slots: Slots;
  executor: Pick<Executor, "state" | "measured">;
}

export class SnapshotSource {
  readonly #options: SnapshotSourceOptions;
  #number = 0;
  #handed = 0;
  /** The receipts of jobs whose channel the runner has opened. */
  readonly #receipts = new Set<string>();
  readonly #declined = new Map<number, Declined>();

  constructor(options: SnapshotSourceOptions) {
    this.#options = options;
  }

  /** A hand-out has arrived. */
  received(handout: number): void {
    this.#handed = Math.max(this.#handed, handout);
  }

  connected(receipt: string): void {
    this.#receipts.add(receipt);
  }

  declined(declined: Declined): void {
    this.#declined.set(declined.handout, declined);
  }

  /** How things are now. */
  take(): RunnerSnapshot {
    const { slots, executor } = this.#options;
    const { containers, ...state } = executor.state();
    this.#number += 1;
    return {
      number: this.#number,
      handed: this.#handed,
      slots: slots.size,
      jobs: slots.handouts,
      ...state,
      // The latest containers: the pool takes the others for room, and the runner declines if there is none.
      containers: containers.slice(-MAX_REPORTED),
      // Measures that get lost with a call are not reported again: others will be measured.
      measured: executor.measured(),
      declined: [...this.#declined.values()],
      receipts: [...this.#receipts].slice(0, MAX_RECEIPTS),
    };
  }

  /** The pool has received it. */
  acknowledged({ receipts, declined }: RunnerSnapshot): void {
    for (const receipt of receipts) this.#receipts.delete(receipt);
    for (const { handout } of declined) this.#declined.delete(handout);
  }
}
