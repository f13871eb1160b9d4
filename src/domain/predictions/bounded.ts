/** Metrics and details of errors, which containers report, within their limits. */
import type { Metrics } from "../../protocol/event.ts";
import type { PredictionError } from "../../protocol/prediction.ts";

/**
 * Limits of metrics and of an error's detail. Both travel in the record, in the row and in queue messages of
 * at most 128 KB, next to a message of up to 60 KB (protocol/channel.ts): 10,000 characters, each of which
 * JSON may write with six.
 */
const MAX_METRICS = 100;
const MAX_METRICS_BYTES = 16_384;
const MAX_DETAIL_BYTES = 16_384;

const encoder = new TextEncoder();
const jsonBytes = (value: unknown) => encoder.encode(JSON.stringify(value)).byteLength;

/** Keeps the first metrics that fit. */
export function boundedMetrics(metrics: Metrics): Metrics {
  let left = MAX_METRICS_BYTES;
  const kept = Object.entries(metrics)
    .slice(0, MAX_METRICS)
    .filter((entry) => {
      left -= jsonBytes(entry);
      return left >= 0;
    });
  return Object.fromEntries(kept);
}

/** A detail that is too large is replaced by a note that says so. */
export function boundedDetail(detail: PredictionError["detail"]): PredictionError["detail"] {
  const bytes = jsonBytes(detail);
  return bytes <= MAX_DETAIL_BYTES
    ? detail
    : `The detail has ${bytes} bytes of JSON; at most ${MAX_DETAIL_BYTES} are kept.`;
}
