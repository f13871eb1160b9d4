/**
 * The outputs of a run, read incrementally. A webhook body is made from them every 500 ms, and
 * reading a log of 36,000 frames from its beginning blocks the object for 100 ms.
 */
import type { EventLog } from "./log.ts";
import type { Piece } from "./rpc-types.ts";

export class OutputSoFar {
  readonly #log: EventLog;
  #attempt = 0;
  #last = 0;
  #values: Piece[] = [];

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** The values of an attempt up to an event. They stay in memory, so not for large ones. */
  upTo(attempt: number, last: number): Piece[] {
    // A retry of an earlier event.
    if (attempt < this.#attempt || last < this.#last) return this.#log.outputs(attempt, last);
    if (attempt > this.#attempt) this.forget();
    this.#attempt = attempt;
    this.#values = this.#values.concat(this.#log.outputs(attempt, last, this.#last));
    this.#last = last;
    return this.#values;
  }

  forget(): void {
    this.#last = 0;
    this.#values = [];
  }
}
