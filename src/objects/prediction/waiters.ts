/** Calls that wait for the prediction to end, each for a time of its own. */
export class Waiters {
  readonly #all = new Set<() => void>();

  get size(): number {
    return this.#all.size;
  }

  /** Resolves when released, or after `ms`. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const leave = () => {
        clearTimeout(timer);
        this.#all.delete(leave);
        resolve();
      };
      const timer = setTimeout(leave, ms);
      this.#all.add(leave);
    });
  }

  release(): void {
    for (const leave of [...this.#all]) leave();
  }
}
