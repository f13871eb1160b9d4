/** What setups and runs took, until the pool is told: it expects as much of the next ones. */
import { MAX_MEASURED, type Measured } from "../../../src/protocol/runner-state.ts";

export class Measures {
  #measured: Measured[] = [];

  /** The oldest go first when nobody asks for them. */
  add(measured: Measured): void {
    this.#measured.push(measured);
    if (this.#measured.length > MAX_MEASURED) this.#measured.shift();
  }

  /** Those since the last call. */
  take(): Measured[] {
    return this.#measured.splice(0);
  }
}
