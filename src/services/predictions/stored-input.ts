/** Inputs that are too large to travel: they lie in R2 before the prediction begins. */

import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { logger } from "../../log.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { ProjectionMessage } from "../../protocol/queue.ts";
import { deleteAll, putValue, valueKey } from "../../storage/files/files.ts";
import { deletePrediction, insertPrediction } from "../../storage/predictions/predictions.ts";
import type { Services } from "../services.ts";

/** The longest JSON text of an input, in bytes, that its object keeps itself. */
const MAX_INLINE_INPUT = 1024 * 1024;

const NAME = "input";

/** What stands for an input that is too large to be kept in the object; null for any other. */
export function storedInputOf(text: string): StoredValue | null {
  // A character has 3 bytes at most: of a short text they need not be counted.
  if (text.length * 3 <= MAX_INLINE_INPUT) return null;
  const size = new TextEncoder().encode(text).byteLength;
  return size > MAX_INLINE_INPUT ? { name: NAME, size } : null;
}

/** The row comes first: of what is stored without one nobody would know. */
export async function storeInput(
  { env, db }: Services,
  row: ProjectionMessage,
  text: string,
): Promise<void> {
  await insertPrediction(db, row);
  await putValue(env.FILES, valueKey(row.id, NAME), text);
}

/** Takes back what was written for a prediction that has not begun; what stays, the sweep finds. */
export async function discard(
  { env, db }: Services,
  { id, user_id, stored_input }: PredictionSpec,
): Promise<void> {
  try {
    if (stored_input) await deleteAll(env.FILES, id);
    await deletePrediction(db, user_id, id);
  } catch (error) {
    logger.warn("Prediction not discarded", { prediction_id: id, user_id, error });
  }
}
