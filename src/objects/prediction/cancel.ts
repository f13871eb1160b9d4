/** Cancels a prediction. The cancel is recorded before the runner is told. */
import type { PredictionRecord } from "./record.ts";
import type { CancelReason, CancelResult } from "./rpc-types.ts";

interface Canceling {
  commit(record: PredictionRecord): void;
  tellCancel(record: PredictionRecord, reason: CancelReason): void;
}

/** A repeated cancel tells the runner again, which may have missed the first. */
export function cancel(
  record: PredictionRecord | undefined,
  effects: Canceling,
  reason: CancelReason,
): CancelResult {
  if (!record) return "unknown";
  const repeated = record.life.state.cancel_requested_at !== null;
  if (!record.life.requestCancel(Date.now())) return "terminal";
  if (!repeated) effects.commit(record);
  effects.tellCancel(record, reason);
  return "accepted";
}
