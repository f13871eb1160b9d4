/** The estimate of a run from earlier ones. */
import { metrics } from "../../protocol/event.ts";
import type { RunEstimate } from "../models/run-estimate.ts";
import { costOf, costParts, type Priced } from "../money/cost.ts";

export interface Range {
  /** The median. */
  expected: number;
  /** One run in ten is below, and one in ten above. Null: not known. */
  low: number | null;
  high: number | null;
}

/** A run that has succeeded, as its row has it. */
export interface PastRun {
  execution_time: number | null;
  /** JSON texts. */
  cost_parts: string | null;
  metrics: string | null;
}

export interface Figures {
  basis: "own_runs" | "all_runs" | "none";
  /** Seconds, and billionths of the currency unit. Undefined: not known, or nothing has a price. */
  time: Range | undefined;
  cost: Range | undefined;
}

/** The fewest runs whose range means something. */
const MIN_RUNS = 5;

/**
 * Returns the figures of the next run: from the account's own runs, or else from the mean of all accounts.
 * @param runs the account's last ones of the version
 */
export function figuresOf(
  runs: readonly PastRun[],
  { state, setup_seconds, run_seconds }: RunEstimate,
  priced: Priced,
): Figures {
  const setup_ms = state === "cold" ? Math.round((setup_seconds ?? 0) * 1_000) : 0;
  if (runs.length >= MIN_RUNS) {
    const cost = () => rangeOf(runs.map((run) => costOfAnother(run, priced, setup_ms)));
    const time = rangeOf(runs.map(({ execution_time }) => execution_time ?? 0));
    return { basis: "own_runs", time, cost: isPriced(priced) ? cost() : undefined };
  }
  if (run_seconds === null) return { basis: "none", time: undefined, cost: undefined };
  // The runs of all accounts are known by their time alone.
  const cost = priceOfTime(priced, run_seconds * 1_000, setup_ms) ?? undefined;
  return {
    basis: "all_runs",
    time: pointAt(run_seconds),
    cost: cost === undefined ? cost : pointAt(cost),
  };
}

const isPriced = ({ price_per_hour, prices }: Priced) =>
  price_per_hour !== null || prices !== undefined;

/** Returns why `figuresOf` has no cost. */
export const noCostText = (runs: number, priced: Priced): string =>
  isPriced(priced)
    ? `The cost is known from ${MIN_RUNS} runs of this version that have succeeded and that you may read. There are ${runs}.`
    : "Neither the hardware nor the version has a price.";

/** Returns what a run would cost now that uses as much as this one. */
function costOfAnother(run: PastRun, priced: Priced, setup_ms: number): number {
  const used = run.metrics === null ? null : metrics.parse(JSON.parse(run.metrics));
  const billable = { run_ms: paidMs(run), setup_ms };
  return costOf(priced, { error: null, billable, execution_seconds: 0, metrics: used }).amount;
}

function rangeOf(values: number[]): Range {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => sorted[Math.ceil(part * sorted.length) - 1] ?? 0;
  return { expected: at(0.5), low: at(0.1), high: at(0.9) };
}

const pointAt = (expected: number): Range => ({ expected, low: null, high: null });

/** Returns the milliseconds that a run has paid for, or those that it took if time had no price. */
function paidMs({ execution_time, cost_parts }: PastRun): number {
  const parts = costParts.parse(JSON.parse(cost_parts ?? "[]"));
  const [, paid] = parts.find(([type]) => type === "time" || type === "own_time") ?? [];
  return paid ?? Math.round((execution_time ?? 0) * 1_000);
}

/** Returns the cost of a run of so many milliseconds. Null: nothing has a price, or it depends on more than time. */
export function priceOfTime(priced: Priced, run_ms: number, setup_ms = 0): number | null {
  if (!isPriced(priced)) return null;
  const { per_run: _, per_second: _time, ...rest } = priced.prices ?? {};
  if (Object.values(rest).some((price) => price !== undefined && price > 0)) return null;
  const billable = { run_ms: Math.round(run_ms), setup_ms };
  return costOf(priced, { error: null, billable, execution_seconds: 0, metrics: null }).amount;
}
