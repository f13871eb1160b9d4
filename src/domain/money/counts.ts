/** The counts of a run, from its metrics: for usage, and for prices by count. */
import { type Metrics, metrics as metricsOf } from "../../protocol/event.ts";

export interface RunCounts {
  /** With those from a cache. */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  images: number;
}

/** Names of metrics, ours first: models for Replicate report the others. */
const NAMES: Record<keyof RunCounts, string[]> = {
  input_tokens: ["input_tokens", "input_token_count"],
  output_tokens: ["output_tokens", "output_token_count"],
  cached_tokens: ["cached_tokens", "cached_input_tokens"],
  images: ["images", "image_count"],
};

/** No run counts more. The sum of nine million runs is then a safe integer, whatever their containers say. */
const MAX_COUNT = 1_000_000_000;

/** Containers are untrusted: what is no count is ignored, as if it were not there. */
export function countsOf(metrics: Metrics | null): RunCounts {
  const count = (name: keyof RunCounts) =>
    NAMES[name].map((metric) => metrics?.[metric]).find(isCount) ?? 0;
  const input_tokens = count("input_tokens");
  return {
    input_tokens,
    output_tokens: count("output_tokens"),
    cached_tokens: Math.min(count("cached_tokens"), input_tokens),
    images: count("images"),
  };
}

const isCount = (value: number | undefined) =>
  value !== undefined && Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;

/** @param text the metrics of a row, as JSON */
export const countsIn = (text: string | null): RunCounts =>
  countsOf(text === null ? null : (metricsOf.safeParse(JSON.parse(text)).data ?? null));
