/**
 * One point of Analytics Engine for the end of each prediction, where a dataset is bound. Operators sum
 * points up over all accounts, whose rows and usage are in an object each. The columns are listed in
 * dashboard/guides/deploying.md. Points have nothing of input, output or the error's text.
 */

import { ANY_SCHEMAS, described } from "../../domain/images/server-description.ts";
import { outputModalityOf } from "../../domain/models/output-modality.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import type { PredictionLife } from "../../domain/predictions/life.ts";
import { queueMs } from "../../domain/predictions/measures.ts";
import { faultOfSchemas } from "../../domain/schemas/json-schema.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { ServerDescription } from "../../protocol/runner.ts";
import { isDatabaseFull, isOverQuota } from "../../storage/accounts/account-bytes.ts";
import { database } from "../../storage/database.ts";
import { completeVersion as complete, findAwaiting } from "../../storage/models/versions.ts";

/** Writes the data point of an end. The platform sends it later, and may sample it: nobody waits for it. */
export function measureEnd({ ANALYTICS }: Bindings, { spec, state }: PredictionLife): void {
  const { id: prediction_id, user_id, model, hardware } = spec;
  try {
    ANALYTICS?.writeDataPoint({
      indexes: [user_id],
      blobs: [
        user_id,
        `${model.owner}/${model.name}`,
        String(model.version_number),
        hardware.identifier,
        state.attempt?.runner_id ?? "",
        state.status,
        state.error?.source ?? "",
      ],
      doubles: [
        queueMs(state) / 1_000,
        state.setup_seconds ?? 0,
        state.execution_seconds ?? 0,
        state.attempt_count,
      ],
    });
  } catch (error) {
    logger.warn("Prediction not measured", { prediction_id, user_id, error });
  }
}

/** Completes a version by what its container's server describes, when it is first started. */

interface Reported {
  model_id: string;
  number: number;
  /** Description by an untrusted container: a part that cannot be used counts as missing. */
  description: ServerDescription;
}

export async function completeVersion(
  env: Bindings,
  { model_id, number, description }: Reported,
): Promise<void> {
  const db = database(env.DB);
  const found = await findAwaiting(db, model_id, number);
  if (!found) return;
  const { version, name, owner_id } = found;
  const awaits = version.awaits ?? [];
  const known = {
    schemas: awaits.includes("schemas") ? undefined : version.schemas,
    compatibilities: awaits.includes("compatibilities") ? undefined : version.compatibilities,
  };
  const answer = described(interfaceOf(version.configuration), known, description);
  const fault = answer.fault ?? faultOfSchemas(answer.schemas);
  if (fault !== undefined) logger.warn("Schemas not taken", { model_id, number, fault });
  const { compatibilities } = answer;
  const schemas = fault === undefined ? answer.schemas : ANY_SCHEMAS;
  const { accountBytes: max_bytes, databaseBytes: max_total_bytes } = settings(env);
  const allowance = { user_id: owner_id, max_bytes, max_total_bytes };
  try {
    const makes = outputModalityOf({ schemas, compatibilities }, name);
    await complete(db, version, { schemas, compatibilities, makes }, allowance);
  } catch (error) {
    if (!isOverQuota(error) && !isDatabaseFull(error)) throw error;
    // The version stays incomplete: a start describes it again, once its owner has made room.
    logger.warn("Version not completed: its account is full", { model_id, number });
  }
}
