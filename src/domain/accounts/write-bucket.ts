/** The bucket that limits the writes of one account to the database and to R2. It fills with time. */

export interface WriteCost {
  /** Rows of D1, index entries included, as `meta.rows_written` counts them. */
  rows: number;
  bytes: number;
}

export type WriteRates = WriteCost;

/** The time in which an empty bucket fills: a full one holds a push of 100 GB at the default rate. */
const CAPACITY_SECONDS: WriteCost = { rows: 60, bytes: 400 };

const KINDS = ["rows", "bytes"] as const;

export interface BucketState extends WriteCost {
  /** When the bucket had these contents, Unix ms. */
  at: number;
}

export class WriteBucket {
  readonly #rates: WriteRates;
  #state: BucketState;

  /** @param state as it was stored; without one the bucket is full */
  constructor(rates: WriteRates, state: BucketState | undefined) {
    this.#rates = rates;
    this.#state = state ?? { rows: this.#most("rows"), bytes: this.#most("bytes"), at: 0 };
  }

  get state(): BucketState {
    return this.#state;
  }

  /** Takes the cost, if need be as a debt. @returns the ms until the bucket would have it; 0: taken */
  take(cost: WriteCost, now: number): number {
    this.#fill(now);
    const waits = KINDS.map((kind) => {
      const missing = Math.min(cost[kind], this.#most(kind)) - this.#state[kind];
      return Math.max(0, Math.ceil((missing / this.#rates[kind]) * 1_000));
    });
    const wait = Math.max(...waits);
    if (wait === 0) this.settle(cost, now);
    return wait;
  }

  /** Takes the writes beyond the charge; a negative number gives back what was not needed. */
  settle(difference: WriteCost, now: number): void {
    this.#fill(now);
    for (const kind of KINDS)
      this.#state[kind] = Math.min(this.#most(kind), this.#state[kind] - difference[kind]);
  }

  /** Returns the share of the capacity by which the bucket differs from an earlier state, of either kind. */
  changeSince(earlier: BucketState): number {
    return Math.max(
      ...KINDS.map((kind) => Math.abs(this.#state[kind] - earlier[kind]) / this.#most(kind)),
    );
  }

  #most(kind: keyof WriteCost): number {
    return this.#rates[kind] * CAPACITY_SECONDS[kind];
  }

  #fill(now: number): void {
    const seconds = Math.max(0, now - this.#state.at) / 1_000;
    const filled = (kind: keyof WriteCost) =>
      Math.min(this.#most(kind), this.#state[kind] + seconds * this.#rates[kind]);
    this.#state = { rows: filled("rows"), bytes: filled("bytes"), at: now };
  }
}
