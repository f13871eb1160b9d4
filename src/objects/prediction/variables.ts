/** The variables of a prediction, decrypted for its runner. */
import { DecryptionFailed } from "../../domain/encryption.ts";
import { decryptVariables, type Variables } from "../../domain/models/variables.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";

/** The error of a prediction whose variables cannot be decrypted, for the model's owner and the operator. */
export const VARIABLES_NOT_DECRYPTED =
  "The model's variables could not be decrypted: they were encrypted with a SECRET_KEY that this deployment does not have. Its operator can append that key to SECRET_KEY, or the owner can set the variables again.";

/**
 * Most predictions have none, and wait for nothing.
 * @returns undefined when a key is missing, which is logged
 */
export async function openVariables(
  env: Bindings,
  { id, model_id, variables }: PredictionSpec,
): Promise<Variables | undefined> {
  if (Object.keys(variables).length === 0) return variables;
  try {
    return await decryptVariables(settings(env).secretKeys, model_id, variables);
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error;
    logger.error("Variables not decrypted", { prediction_id: id, model_id, error });
    return undefined;
  }
}
