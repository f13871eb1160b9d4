/**
 * How long the last 100 jobs waited in the queue, in memory. Those of the express lane never wait:
 * their zeros would hide the others.
 */
const MAX_TIMES = 100;

export class WaitTimes {
  readonly #ms: number[] = [];

  add(ms: number): void {
    this.#ms.push(ms);
    if (this.#ms.length > MAX_TIMES) this.#ms.shift();
  }

  /** Null when there were none since the pool woke up. */
  get medianMs(): number | null {
    const sorted = this.#ms.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }
}
