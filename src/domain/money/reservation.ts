/** The amount that is reserved for a prediction before it runs, in billionths of the currency unit. */
import { costOf, type Priced } from "./cost.ts";

/** A request of a prediction to its account, before it begins. */
export interface Reservation {
  /** The most that it can cost. */
  most: number;
  /** The least that is reserved, so that a run that is a bit longer than usual needs no extension. */
  least: number;
  /** The amount with which a run begins if its budgets have no more. It is extended, or stopped. */
  enough: number;
  /** How often what the dearest of the last runs has cost is reserved. */
  margin: number;
  /** How many predictions of its token may run or wait at a time; null: any number. */
  max_running: number | null;
  /** The limits of a client token for all of its predictions. Its budgets are made with its first prediction. */
  client?: ClientLimits;
}

export interface ClientLimits {
  id: string;
  max_predictions: number | null;
  budget: number | null;
}

/** Enough runs for what they cost to say what the next will cost. */
export const MIN_RUNS = 10;
/** The runs of the version that are looked at, at most. */
export const MAX_RUNS = 50;

const LEAST_MS = 10_000;
/** The time for which a run begins whose budgets have no more. In less, many models do nothing of use. */
const ENOUGH_MS = 60_000;

/** The most that a run is taken to use of things whose number is known only at its end. */
const MOST_USED = {
  input_tokens: 200_000,
  output_tokens: 32_000,
  images: 10,
  audio_seconds: 3_600,
};
/** A run cannot be extended for what is known only at its end, so more of that is reserved. */
const MARGIN = 2;

interface Limited {
  setup_timeout_seconds: number;
  timeout_seconds: number;
}

export function reservationOf(spec: Priced & Limited, max_running: number | null): Reservation {
  const run_ms = spec.timeout_seconds * 1_000;
  const setup_ms = spec.setup_timeout_seconds * 1_000;
  const cost = (billable: { run_ms: number; setup_ms: number }, metrics: typeof MOST_USED | null) =>
    costOf(spec, { error: null, billable, execution_seconds: 0, metrics }).amount;
  const inTime = cost({ run_ms, setup_ms }, null);
  const most = cost({ run_ms, setup_ms }, MOST_USED);
  return {
    most,
    least: Math.min(most, cost({ run_ms: LEAST_MS, setup_ms: 0 }, null)),
    // A run cannot be stopped in time for what is known only at its end: all of that is reserved.
    enough: Math.min(
      most,
      Math.max(
        cost({ run_ms: ENOUGH_MS, setup_ms: 0 }, MOST_USED),
        cost({ run_ms: 0, setup_ms: ENOUGH_MS }, MOST_USED),
      ),
    ),
    margin: most > inTime ? MARGIN : 1,
    max_running,
  };
}

/**
 * Returns what is reserved for versions of which any may run. What the runs of the first have cost says nothing of
 * the others: each of these has enough to begin with.
 */
export function reservationOfAny(first: Reservation, others: readonly Reservation[]): Reservation {
  const highest = (of: (one: Reservation) => number) => Math.max(...[first, ...others].map(of));
  return {
    ...first,
    most: highest(({ most }) => most),
    least: Math.max(first.least, ...others.map(({ enough }) => enough)),
    enough: highest(({ enough }) => enough),
    margin: highest(({ margin }) => margin),
  };
}

/**
 * Returns what is reserved: the most that the prediction can cost, or less if that many of the account's last
 * runs of the version were cheaper. Its budgets need to have the least of it.
 * @param costs of these runs
 */
export function reservedAmounts(
  { most, least, enough, margin }: Reservation,
  costs: number[],
): { amount: number; least: number } {
  // The 99th percentile of at most 50 runs is the dearest of them.
  const usual = costs.length < MIN_RUNS ? most : Math.max(least, margin * Math.max(...costs));
  const amount = Math.min(most, usual);
  return { amount, least: Math.min(amount, enough) };
}

/** How long before its reservation is used up a run asks for an extension. */
export const EXTENSION_MS = 5_000;

const HOUR_S = 3_600;
const HOUR_MS = 3_600_000;

interface Times {
  started_at: number;
  /** Null: the container is not ready. */
  ready_at: number | null;
}

/** Returns when a run has used a reservation up, if it goes on. */
export function usedUpAt(
  { price_per_hour, prices = {}, charges_setup }: Priced,
  reserved: number,
  { started_at, ready_at }: Times,
): number {
  const { per_run = 0, per_second } = prices;
  const setupPrice = charges_setup ? (price_per_hour ?? 0) : 0;
  const runPrice = per_second === undefined ? (price_per_hour ?? 0) : per_second * HOUR_S;
  const left = HOUR_MS * Math.max(0, reserved - per_run);
  if (ready_at === null) return after(started_at, left, setupPrice);
  return after(ready_at, left - setupPrice * (ready_at - started_at), runPrice);
}

const after = (from: number, left: number, price: number) =>
  price === 0 ? Number.POSITIVE_INFINITY : Math.floor(from + Math.max(0, left) / price);
