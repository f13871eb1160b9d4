/** Asks for the end of a prediction, whoever wants it. It is recorded before the runner is told. */

import type { Effects } from "./effects.ts";
import type { PredictionRecord } from "./record.ts";
import type { CancelReason, CancelResult } from "./rpc-types.ts";

/** Asked again it is told again: the runner may have missed it. */
export function cancel(
  record: PredictionRecord | undefined,
  effects: Effects,
  reason: CancelReason,
): CancelResult {
  if (!record) return "unknown";
  const repeated = record.life.state.cancel_requested_at !== null;
  if (!record.life.requestCancel(Date.now())) return "terminal";
  if (!repeated) effects.commit(record);
  effects.tellCancel(record, reason);
  return "accepted";
}
