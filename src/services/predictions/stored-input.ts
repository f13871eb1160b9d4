/** Large inputs are stored in R2 before their prediction is created. */
import { initialRow } from "../../domain/predictions/prediction-row.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { logger } from "../../log.ts";
import { accountAt } from "../../objects/account/stub.ts";
import type { CreateRequest } from "../../objects/prediction/rpc-types.ts";
import type { StoredValue } from "../../protocol/event.ts";
import { deleteAll, putValue, valueKey } from "../../storage/files/files.ts";
import type { Services } from "../services.ts";

/** The largest input, as JSON text, that its object stores itself. */
const MAX_INLINE_BYTES = 1024 * 1024;

const INPUT_NAME = "input";

/** The reference to an input that is too large for its object; null for any other. */
export function storedInputOf(text: string): StoredValue | null {
  // A UTF-16 unit has at most 3 bytes: those of a short text need not be counted.
  if (text.length * 3 <= MAX_INLINE_BYTES) return null;
  const size = new TextEncoder().encode(text).byteLength;
  return size > MAX_INLINE_BYTES ? { name: INPUT_NAME, size } : null;
}

/** An input in R2 is not sent to the object. */
export const withoutStoredInput = (request: CreateRequest): CreateRequest =>
  request.spec.stored_input ? { ...request, input: "" } : request;

/** Writes the row first: without it nobody would know what to delete. */
export async function storeInput(
  { env }: Services,
  spec: PredictionSpec,
  objectId: string,
  text: string,
): Promise<void> {
  const isTaken = await accountAt(env, spec.account_object).put(initialRow(spec, objectId));
  if (!isTaken) throw new Error("the account takes no predictions");
  await putValue(env.FILES, valueKey(spec.id, INPUT_NAME), text);
}

/** Deletes what was written for a prediction that was not created. If that fails its account does it. */
export async function discardPrediction(
  { env }: Services,
  { id, user_id, stored_input, account_object }: PredictionSpec,
  objectId: string,
): Promise<void> {
  try {
    if (stored_input) await deleteAll(env.FILES, id);
    await accountAt(env, account_object).discard(id, objectId);
  } catch (error) {
    logger.warn("Prediction not discarded", { prediction_id: id, user_id, error });
  }
}
