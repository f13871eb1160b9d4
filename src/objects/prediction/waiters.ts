/** Calls that wait for the prediction to end, each with its own time limit. */
import type { ReplacementCheck } from "../replacement-check.ts";

export class Waiters {
  readonly #replacement: ReplacementCheck;
  readonly #all = new Set<() => void>();

  constructor(replacement: ReplacementCheck) {
    this.#replacement = replacement;
  }

  get size(): number {
    return this.#all.size;
  }

  /** Resolves when released, or after this time. */
  wait(seconds: number): Promise<void> {
    return new Promise((resolve) => {
      const release = this.#replacement.hold();
      const leave = () => {
        clearTimeout(timer);
        release();
        this.#all.delete(leave);
        resolve();
      };
      const timer = setTimeout(leave, seconds * 1000);
      this.#all.add(leave);
    });
  }

  releaseAll(): void {
    for (const leave of [...this.#all]) leave();
  }
}
