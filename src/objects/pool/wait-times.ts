/**
 * How long jobs have waited in line until they were handed out: of the last 100, in memory. Those
 * of the express lane are in no line, and would hide it behind their zeros.
 */
const KEPT = 100;

export class WaitTimes {
  readonly #ms: number[] = [];

  add(ms: number): void {
    this.#ms.push(ms);
    if (this.#ms.length > KEPT) this.#ms.shift();
  }

  /** Null when there were none since the pool woke. */
  get median(): number | null {
    const sorted = this.#ms.toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }
}
