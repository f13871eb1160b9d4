/** The row of a restored prediction, whose input, output and log stayed in its first deployment. */
import type { StoredPrediction } from "../../protocol/backup.ts";
import type { PredictionError } from "../../protocol/prediction.ts";
import { OWN_REMOVAL_MS } from "../predictions/prediction-row.ts";
import { isTerminal } from "../predictions/status.ts";

export const LOST = JSON.stringify({
  source: "internal",
  message: "The prediction had not ended when its backup was made.",
  detail: null,
} satisfies PredictionError);

/**
 * Returns the restored row: its data is gone, and a prediction that had not ended has failed.
 *
 * The prediction's files may still be in R2, if the bucket is the same. So the account looks at it when they
 * are due, and removes them.
 * @param at when the backup was made, Unix ms
 */
export function asHistory(
  row: StoredPrediction,
  at: number,
  retentionMs: number,
): StoredPrediction {
  const left = { ...row, data_removed: 1, kept_seconds: null };
  if (!isTerminal(row.status)) {
    const updated_at = Math.max(at, row.updated_at);
    const due_at = updated_at + retentionMs + OWN_REMOVAL_MS;
    return { ...left, status: "failed", error: LOST, cost: 0, updated_at, due_at, waits_again: 0 };
  }
  // Short runs have nothing in R2.
  const isClean = row.data_removed === 1 || row.kept_seconds !== null;
  return isClean ? { ...left, due_at: null } : left;
}
