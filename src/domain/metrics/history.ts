/** The metrics of a model, or of the deployment, over time. */
import {
  BUCKETS_MS,
  failuresIn,
  histogramOf,
  type Measures,
  riseOf,
  summed,
  type TimeName,
} from "./measures.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;

/** Sums are stored this often, while they rise. */
export const SAMPLE_MS = 5 * MINUTE_MS;

/** Spans of a chart, with the time of each point. */
export const SPANS = {
  "1h": { name: "hour", stepMs: SAMPLE_MS, points: 12 },
  "24h": { name: "24 hours", stepMs: 30 * MINUTE_MS, points: 48 },
  "7d": { name: "7 days", stepMs: 6 * HOUR_MS, points: 28 },
  "90d": { name: "90 days", stepMs: DAY_MS, points: 90 },
} as const;
export type Span = keyof typeof SPANS;

/** Samples that are older than `afterMs` are thinned to the last one of each `everyMs`. */
export const THINNED = [
  { afterMs: 26 * HOUR_MS, everyMs: HOUR_MS },
  { afterMs: 8 * DAY_MS, everyMs: DAY_MS },
];
export const SAMPLES_MS = 92 * DAY_MS;

/** Sums of one set of labels as of a time, unix ms. */
export interface SumsAt {
  at: number;
  counts: Measures;
}

/** A half and nineteen of twenty runs took at most so many ms. */
export interface Percentiles {
  p50: number;
  p95: number;
}

export interface Point {
  /** When the point begins, unix ms. */
  at: number;
  succeeded: number;
  failed: number;
  canceled: number;
  /** Null where nothing was measured. */
  times: Record<TimeName, Percentiles | null>;
}

/** Returns when each point begins, and the end of the last. */
export function boundariesOf(span: Span, now: number): number[] {
  const { stepMs, points } = SPANS[span];
  const last = Math.floor(now / stepMs) * stepMs;
  const starts = Array.from({ length: points }, (_, n) => last - (points - 1 - n) * stepMs);
  return [...starts, now];
}

/**
 * Returns a point for each pair of boundaries.
 * @param series the samples of each set of labels, oldest first, up to the present
 */
export const pointsOf = (series: SumsAt[][], boundaries: number[]): Point[] =>
  risesOf(series, boundaries).map((rise, n) => pointOf(boundaries[n] ?? 0, rise));

/** Returns how much all series together rose between each pair of boundaries. */
export function risesOf(series: SumsAt[][], boundaries: number[]): Measures[] {
  const rises = boundaries.slice(1).map((): Measures => ({}));
  for (const samples of series) {
    let next = 0;
    let sums: Measures = {};
    const known = boundaries.map((boundary) => {
      for (let one = samples[next]; one && one.at <= boundary; one = samples[++next])
        sums = one.counts;
      return sums;
    });
    for (const [n, rise] of rises.entries())
      rises[n] = summed(rise, riseOf(known[n] ?? {}, known[n + 1] ?? {}));
  }
  return rises;
}

function pointOf(at: number, rise: Measures): Point {
  return {
    at,
    succeeded: rise.succeeded ?? 0,
    failed: failuresIn(rise),
    canceled: rise.canceled ?? 0,
    times: {
      queue: percentilesOf(rise, "queue"),
      setup: percentilesOf(rise, "setup"),
      run: percentilesOf(rise, "run"),
      first_output: percentilesOf(rise, "first_output"),
      total: percentilesOf(rise, "total"),
    },
  };
}

export function percentilesOf(rise: Measures, name: TimeName): Percentiles | null {
  const { cumulative } = histogramOf(rise, name);
  const count = cumulative.at(-1) ?? 0;
  if (count === 0) return null;
  const at = (share: number) => quantileOf(cumulative, share * count);
  return { p50: at(0.5), p95: at(0.95) };
}

/** Returns the time up to which `rank` runs were counted, taken as even within a bucket, as Prometheus does. */
function quantileOf(cumulative: number[], rank: number): number {
  const bucket = cumulative.findIndex((count) => count >= rank);
  const to = BUCKETS_MS[bucket];
  // The last bucket has no end.
  if (to === undefined) return BUCKETS_MS.at(-1) ?? 0;
  const from = BUCKETS_MS[bucket - 1] ?? 0;
  const below = cumulative[bucket - 1] ?? 0;
  const inside = (cumulative[bucket] ?? 0) - below;
  return from + ((rank - below) / inside) * (to - from);
}
