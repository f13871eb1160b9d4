/** Totals of the log: which frame came last, and what counts towards the limits. */
import type { EncodedEvent } from "./log-events.ts";

export interface LogTotals {
  /** The last attempt that reported, and the sequence number of its last frame. */
  attempt: number;
  seq: number;
  /** Its `output` events, their bytes with those of metrics, and the bytes of its logs. */
  outputs: number;
  output_bytes: number;
  logs_bytes: number;
  /** Its other events. They are limited because each may be a row of the log. */
  notes: number;
}

const NOTHING_REPORTED = { outputs: 0, output_bytes: 0, logs_bytes: 0, notes: 0 };

export const NO_TOTALS: LogTotals = { attempt: 0, seq: 0, ...NOTHING_REPORTED };

/** The bytes of an empty output event: its runner counts them, too. */
const OUTPUT_ENVELOPE_BYTES = '{"event":"output","data":}'.length;

/** The totals with a further frame of this attempt. */
export function totalsWith(
  totals: LogTotals,
  attempt: number,
  seq: number,
  events: EncodedEvent[],
): LogTotals {
  const next = { ...totals, attempt, seq };
  // Limits apply to each attempt: its runner knows nothing of earlier ones.
  if (attempt !== totals.attempt) Object.assign(next, NOTHING_REPORTED);
  for (const { event, size, notes } of events) {
    next.notes += notes;
    if (event === "output" || event === "stored") {
      next.outputs += 1;
      next.output_bytes += OUTPUT_ENVELOPE_BYTES + size;
    } else if (event === "metrics") next.output_bytes += size;
    else if (event === "logs" || event === "setup") next.logs_bytes += size;
  }
  return next;
}
