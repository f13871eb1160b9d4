/**
 * Short runs: a caller waits for them, and they end at once. Such a run has one row in D1, in its final
 * form, which its object writes after the answer. So the row is held back until it is known whether the
 * run lasts; until then nobody has its id.
 */
import { hasStoredInput, type PredictionSpec } from "./state.ts";

/**
 * How long a run counts as short. If a machine runs 32 at a time, none ends within 30 ms, and nearly all
 * within this.
 */
export const SHORT_RUN_MS = 250;

/**
 * Whether the row may be held back. It may not when anybody else may look for it (by a stream, a webhook, a
 * repeated Idempotency-Key), nor when the input is in R2, where only the row says what to delete.
 */
export const holdsRow = (
  waits: boolean,
  spec: Pick<PredictionSpec, "id" | "webhook" | "endpoints" | "stored_input" | "files" | "claim">,
): boolean =>
  waits &&
  spec.webhook === null &&
  spec.endpoints.length === 0 &&
  !hasStoredInput(spec) &&
  spec.claim === null;
