/** The variables of a prediction as its runner is handed them. In the record they are sealed. */

import { DecryptionFailed } from "../../domain/encryption.ts";
import { unsealVariables, type Variables } from "../../domain/models/variables.ts";
import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";

/** What a prediction ends with whose variables nobody can open: for the model's owner, and the operator. */
export const UNOPENED =
  "The model's variables could not be opened: the deployment's SECRET_KEY is not the one that they were sealed with. Its operator can put that one behind the current one; or set the variables anew.";

/**
 * For most there is nothing to do, and nothing is waited for.
 * @returns undefined when a key is missing, which the operator's log tells
 */
export async function openVariables(
  env: Bindings,
  { id, model_id, variables }: PredictionSpec,
): Promise<Variables | undefined> {
  if (Object.keys(variables).length === 0) return variables;
  try {
    return await unsealVariables(settings(env).secretKeys, model_id, variables);
  } catch (error) {
    if (!(error instanceof DecryptionFailed)) throw error;
    logger.error("Variables not decrypted", { prediction_id: id, model_id, error });
    return undefined;
  }
}
