/** Calls that wait for the prediction to end, each with its own time limit. */
export class Waiters {
  readonly #all = new Set<() => void>();

  get size(): number {
    return this.#all.size;
  }

  /** Resolves when released, or after this time. */
  wait(seconds: number): Promise<void> {
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer);
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
