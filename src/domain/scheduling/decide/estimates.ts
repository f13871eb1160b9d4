/** How long setups and runs take, as measured: decayed mean and variance of about the last 50. */
import { z } from "zod";

/** The most keys: the least recently used are forgotten first. */
const MAX_KEYS = 5_000;
const LAST = 50;
const SETUP_MS = 30_000;
const RUN_MS = 5_000;

const estimate = z.object({
  /** How many durations were measured, at most 50. */
  count: z.number(),
  mean: z.number(),
  variance: z.number(),
});
export type Estimate = z.infer<typeof estimate>;

export interface Measured {
  setup_ms?: number | undefined;
  run_ms?: number | undefined;
}

const estimates = z.object({ setup: estimate, run: estimate });
type Estimates = z.infer<typeof estimates>;

export const savedEstimates = z.object({
  overall: estimates,
  keys: z.array(z.tuple([z.string(), estimates])),
});
export type SavedEstimates = z.infer<typeof savedEstimates>;

const none = (): Estimates => ({
  setup: { count: 0, mean: SETUP_MS, variance: 0 },
  run: { count: 0, mean: RUN_MS, variance: 0 },
});

export class EstimateTable {
  #overall = none();
  /** Estimates in the order in which their keys were last used. */
  #keys = new Map<string, Estimates>();

  /** Returns the setup time of a key; of all keys together if this one was never measured. */
  setup(key: string): Estimate {
    return this.#known(key, "setup");
  }

  run(key: string): Estimate {
    return this.#known(key, "run");
  }

  /** Returns the measurements of this key itself: nothing is guessed from others. */
  measuredOf(key: string): Measured {
    const { setup, run } = this.#keys.get(key) ?? none();
    return {
      ...(setup.count > 0 && { setup_ms: setup.mean }),
      ...(run.count > 0 && { run_ms: run.mean }),
    };
  }

  add(key: string, { setup_ms, run_ms }: Measured): void {
    const own = this.#keys.get(key) ?? none();
    this.#keys.delete(key);
    this.#keys.set(key, own);
    for (const estimates of [own, this.#overall]) {
      if (setup_ms !== undefined) estimates.setup = updated(estimates.setup, setup_ms);
      if (run_ms !== undefined) estimates.run = updated(estimates.run, run_ms);
    }
    const [oldest] = this.#keys.keys();
    if (this.#keys.size > MAX_KEYS && oldest !== undefined) this.#keys.delete(oldest);
  }

  save(): SavedEstimates {
    return { overall: this.#overall, keys: [...this.#keys] };
  }

  load({ overall, keys }: SavedEstimates): void {
    this.#overall = overall;
    this.#keys = new Map(keys);
  }

  #known(key: string, what: keyof Estimates): Estimate {
    const own = this.#keys.get(key)?.[what];
    return own && own.count > 0 ? own : this.#overall[what];
  }
}

/** West's weighted form of Welford's algorithm: a plain mean at first, then old values fade. */
function updated({ count, mean, variance }: Estimate, value: number): Estimate {
  const next = Math.min(count + 1, LAST);
  const weight = 1 / next;
  // An estimate before the first measurement is a guess.
  const difference = count === 0 ? 0 : value - mean;
  return {
    count: next,
    mean: count === 0 ? value : mean + weight * difference,
    variance: (1 - weight) * (variance + weight * difference * difference),
  };
}
