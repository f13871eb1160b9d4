/** How many times as long as expected the last waits were: the ranges of forecasts come from these. */
import { z } from "zod";
import type { Forecast, ForecastKind } from "./types.ts";

/** The most misses of a kind that are kept. */
const LAST = 200;
/** The fewest misses from which a range is made. */
const LEAST = 5;
/** A shorter wait counts as this one: a miss would be many times nothing. */
const LEAST_MS = 100;

export interface Range {
  p10_ms: number;
  p50_ms: number;
  p90_ms: number;
}

const misses = z.array(z.number());
export const savedForecasts = z.object({ start: misses, container: misses, slot: misses });
export type SavedForecasts = z.infer<typeof savedForecasts>;

export class Forecasts {
  /** Forecasts of jobs whose run has not begun. */
  readonly #open = new Map<string, Forecast & { at: number }>();
  lastAt = Number.NEGATIVE_INFINITY;
  #misses: SavedForecasts = { start: [], container: [], slot: [] };

  add(forecast: Forecast, now: number): void {
    if (this.#open.has(forecast.job)) return;
    this.#open.set(forecast.job, { ...forecast, at: now });
    this.lastAt = now;
  }

  /** Compares the forecast of a job with the time at which its run has begun. */
  began(job: string, now: number): void {
    const open = this.#open.get(job);
    if (!open) return;
    this.#open.delete(job);
    const misses = this.#misses[open.kind];
    misses.push(Math.max(LEAST_MS, now - open.at) / Math.max(LEAST_MS, open.expected_ms));
    if (misses.length > LAST) misses.shift();
  }

  forget(job: string): void {
    this.#open.delete(job);
  }

  range(kind: ForecastKind, expected_ms: number): Range | undefined {
    const sorted = this.#misses[kind].toSorted((a, b) => a - b);
    if (sorted.length < LEAST) return undefined;
    const at = (share: number) =>
      Math.max(LEAST_MS, expected_ms) * (sorted[Math.floor(share * sorted.length)] ?? 1);
    return { p10_ms: at(0.1), p50_ms: at(0.5), p90_ms: at(0.9) };
  }

  save(): SavedForecasts {
    return this.#misses;
  }

  load(saved: SavedForecasts): void {
    this.#misses = saved;
  }
}
