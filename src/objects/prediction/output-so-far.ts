/**
 * The outputs of a run, read on from where they were left. A body is made of them every 500 ms, and
 * reading a log of 36,000 frames from its beginning takes 100 ms, in which nothing else is done.
 */
import type { EventLog, Piece } from "./log.ts";

export class OutputSoFar {
  readonly #log: EventLog;
  #attempt = 0;
  #last = 0;
  #values: Piece[] = [];

  constructor(log: EventLog) {
    this.#log = log;
  }

  /** The values of an attempt up to an event. They are kept: not to be asked for when they are large. */
  upTo(attempt: number, last: number): Piece[] {
    // An event of before, which is tried again.
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
