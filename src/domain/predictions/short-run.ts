/**
 * Short runs: a caller waits for them, and they end at once. Such a run has one row in D1, in its final
 * form, which its object writes after the answer. So the row is held back until it is known whether the
 * run lasts; until then nobody has its id.
 */
import { hasStoredInput, type PredictionSpec } from "./state.ts";

/** With 32 of them at a time on one machine, none ends within 30 ms, and nearly all within this. */
export const SHORT_RUN_MS = 250;

/**
 * Whether its row may be held back. Not when anybody else hears of it (a stream, a webhook, whoever
 * repeats its Idempotency-Key), nor when its input is in R2, where only its row tells what to delete.
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
