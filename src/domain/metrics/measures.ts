/**
 * Measures are the sums of predictions that have ended, as numbers by name. All of them only rise, so that two
 * sums are compared by a subtraction. Times are in ms, costs in billionths of the currency unit.
 *
 * The names are an outcome (`succeeded`, `canceled`, `failed:` and the source of the error), `attempts_lost`,
 * `input_tokens`, `cached_tokens`, `output_tokens`, `cost`, and of each time (`queue`) its sum (`queue:sum`) and
 * how many were in each bucket (`queue:3`).
 */
import { z } from "zod";
import { quantitiesOf } from "../money/quantities.ts";
import type { PredictionSpec, PredictionState } from "../predictions/state.ts";

export const measures = z.record(z.string(), z.number());
export type Measures = Readonly<z.infer<typeof measures>>;

/** @param text the JSON of measures */
export const measuresIn = (text: string): Measures => measures.parse(JSON.parse(text));

/** OpenTelemetry's buckets for the duration of an operation, and those of minutes. */
export const BUCKETS_MS = [
  ...[10, 20, 40, 80, 160, 320, 640, 1_280, 2_560, 5_120, 10_240, 20_480, 40_960, 81_920],
  ...[300_000, 600_000, 1_800_000, 3_600_000],
];

export const TIMES = ["queue", "setup", "run", "first_output", "total"] as const;
export type TimeName = (typeof TIMES)[number];

/** No time is longer: the sum of a billion of them is a safe integer. */
const MAX_MS = 8_000_000;

/** Returns the measures of one time. */
function timed(name: TimeName, ms: number): Measures {
  const known = Math.min(Math.max(0, Math.round(ms)), MAX_MS);
  const bucket = BUCKETS_MS.findIndex((most) => known <= most);
  return {
    [`${name}:sum`]: known,
    [`${name}:${bucket === -1 ? BUCKETS_MS.length : bucket}`]: 1,
  };
}

/** Returns the measures of a prediction that has ended. */
export function measuresOf(
  { created_at }: Pick<PredictionSpec, "created_at">,
  state: PredictionState,
): Measures {
  const { status, error, metrics, cost, lost_count } = state;
  const { setup_seconds, execution_seconds, first_output_at } = state;
  const { uncached, cached, output } = quantitiesOf(metrics);
  const counts = {
    attempts_lost: lost_count,
    input_tokens: uncached + cached,
    cached_tokens: cached,
    output_tokens: output,
    cost: cost ?? 0,
  };
  return {
    [error ? `${status}:${error.source}` : status]: 1,
    ...Object.fromEntries(Object.entries(counts).filter(([, count]) => count > 0)),
    ...timed("queue", queueMs(state)),
    ...(setup_seconds && timed("setup", setup_seconds * 1_000)),
    ...(execution_seconds !== null && timed("run", execution_seconds * 1_000)),
    ...(first_output_at !== null && timed("first_output", first_output_at - created_at)),
    ...timed("total", (state.completed_at ?? state.updated_at) - created_at),
  };
}

/**
 * Returns the time in the queue; of the last wait, if runners were lost. A runner has the job since its attempt
 * was opened.
 */
export function queueMs({ attempt, waiting_since, updated_at }: PredictionState): number {
  const until = attempt?.started_at == null ? updated_at : attempt.opened_at;
  return Math.max(0, until - waiting_since);
}

export function summed(a: Measures, b: Measures): Measures {
  const sum = { ...a };
  for (const [name, value] of Object.entries(b)) sum[name] = (sum[name] ?? 0) + value;
  return sum;
}

/** Returns how much `after` has risen since `before`. A number that has fallen counts as unchanged. */
export function riseOf(before: Measures, after: Measures): Measures {
  const rises = Object.entries(after).map(([name, value]) => [name, value - (before[name] ?? 0)]);
  return Object.fromEntries(rises.filter(([, rise]) => Number(rise) > 0));
}

/** Returns how many predictions failed, for whatever reason. */
export const failuresIn = (measures: Measures): number =>
  Object.entries(measures).reduce(
    (sum, [name, count]) => sum + (name.startsWith("failed") ? count : 0),
    0,
  );

export const isEmpty = (measures: Measures): boolean => Object.keys(measures).length === 0;

/** A histogram of one of the times, as Prometheus has it. */
export interface Histogram {
  sum: number;
  /** How many were at most as long as each bucket, the last without a limit. */
  cumulative: number[];
}

export function histogramOf(measures: Measures, name: TimeName): Histogram {
  let count = 0;
  const cumulative = [...BUCKETS_MS, Number.POSITIVE_INFINITY].map((_, bucket) => {
    count += measures[`${name}:${bucket}`] ?? 0;
    return count;
  });
  return { sum: measures[`${name}:sum`] ?? 0, cumulative };
}
