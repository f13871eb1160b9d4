/**
 * How long the last 100 jobs of each class waited in the queue, in memory. Those of the express lane never
 * wait: their zeros would hide the others.
 */
const MAX_TIMES = 100;

export class WaitTimes {
  readonly #ms = new Map<string, number[]>();

  add(hardware: string, ms: number): void {
    const times = this.#ms.get(hardware) ?? [];
    times.push(ms);
    if (times.length > MAX_TIMES) times.shift();
    this.#ms.set(hardware, times);
  }

  /**
   * Null when there were none since the pool woke up.
   * @param hardware by default of all classes
   */
  medianMs(hardware?: string): number | null {
    const times = hardware === undefined ? [...this.#ms.values()].flat() : this.#ms.get(hardware);
    const sorted = (times ?? []).toSorted((a, b) => a - b);
    return sorted[Math.floor(sorted.length / 2)] ?? null;
  }
}
