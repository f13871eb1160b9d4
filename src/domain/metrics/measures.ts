/**
 * Measures are the sums of predictions that have ended, as numbers by name. All of them only rise, so that two
 * sums are compared by a subtraction. Times are in ms, costs in billionths of the currency unit.
 *
 * The names are an outcome (`succeeded`, `canceled`, `failed:` and the source of the error), `attempts_lost`,
 * `input_tokens`, `cached_tokens`, `output_tokens`, `cost`, and of each time (`queue`) its sum (`queue:sum`) and
 * how many were in each bucket (`queue:3`).
 */
import { z } from "zod";

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
