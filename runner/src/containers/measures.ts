/** Durations of setups and runs, kept until they are reported: the pool expects the same of the next. */
import { MAX_MEASURED, type Measured } from "../../../src/protocol/runner-state.ts";

export class Measures {
  #measured: Measured[] = [];

  /** Adds a measure. The oldest measures are dropped if the runner does not report. */
  add(measured: Measured): void {
    this.#measured.push(measured);
    if (this.#measured.length > MAX_MEASURED) this.#measured.shift();
  }

  /** Returns the measures since the last call. */
  take(): Measured[] {
    return this.#measured.splice(0);
  }
}
