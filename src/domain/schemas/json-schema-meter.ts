/** Counts the steps of one validation. A step takes about 50 ns. */

/** The most steps: about 0.5 s in the worst case. A list of 90,000 numbers takes fewer. */
const MAX_STEPS = 10_000_000;

/** Characters that are read in one step. */
const CHARS = 20;

export class TooCostly extends Error {}

export class Meter {
  readonly #max: number;
  #steps = 0;

  constructor(max = MAX_STEPS) {
    this.#max = max;
  }

  get steps(): number {
    return this.#steps;
  }

  /** @throws TooCostly */
  spend(steps: number): void {
    this.#steps += steps;
    if (this.#steps > this.#max)
      throw new TooCostly(`validation takes more than ${this.#max} steps`);
  }
}

/** Returns the steps to read a text once. */
export const stepsOfText = (text: string): number => 1 + Math.ceil(text.length / CHARS);

/** @param isRead whether a value below is read; each other value is one step */
export function stepsOfValue(value: unknown, isRead: (below: object) => boolean): number {
  if (typeof value === "string") return stepsOfText(value);
  if (typeof value !== "object" || value === null || !isRead(value)) return 1;
  let steps = 1;
  for (const [name, below] of Object.entries(value))
    steps += stepsOfText(name) + stepsOfValue(below, isRead);
  return steps;
}
