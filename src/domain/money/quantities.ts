/** The quantities that a run has used besides time, from the metrics that its runner and its container report. */
import { type Metrics, metrics as metricsOf } from "../../protocol/event.ts";

export interface Quantities {
  /** Input tokens that come from no cache. */
  uncached: number;
  cached: number;
  output: number;
  images: number;
  audio_ms: number;
}

/** The names of a metric: ours, then those of models on Replicate. */
const NAMES = {
  input: ["input_tokens", "input_token_count"],
  cached: ["cached_tokens"],
  output: ["output_tokens", "output_token_count"],
  images: ["images", "image_count"],
  audio: ["audio_seconds", "audio_duration"],
} as const;

/** Returns the quantities in metrics, as far as they are numbers that something can be counted with. */
export function quantitiesOf(metrics: Metrics | null): Quantities {
  const all = new Map(Object.entries(metrics ?? {}));
  const numberOf = (names: readonly string[], isNumber: (value: number) => boolean) =>
    names.map((name) => all.get(name) ?? Number.NaN).find(isNumber) ?? 0;
  const input = numberOf(NAMES.input, isCount);
  // Cached tokens are a part of the input.
  const cached = Math.min(numberOf(NAMES.cached, isCount), input);
  return {
    uncached: input - cached,
    cached,
    output: numberOf(NAMES.output, isCount),
    images: numberOf(NAMES.images, isCount),
    audio_ms: Math.round(numberOf(NAMES.audio, isSeconds) * 1_000),
  };
}

/** @param text the metrics of a row, as JSON */
export const quantitiesIn = (text: string | null): Quantities =>
  quantitiesOf(text === null ? null : (metricsOf.safeParse(JSON.parse(text)).data ?? null));

/** No run counts more. The sum of nine million runs is then a safe integer, whatever their containers say. */
const MAX_COUNT = 1_000_000_000;

const isCount = (value: number) => Number.isInteger(value) && value >= 0 && value <= MAX_COUNT;
const isSeconds = (value: number) => value >= 0 && value <= MAX_COUNT;
