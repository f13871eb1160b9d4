/** Completes a version by what its container's server tells, when it is first started. */
import { ANY_SCHEMAS, described } from "../../domain/images/server-description.ts";
import { makesOf } from "../../domain/models/makes.ts";
import { faultOfSchemas } from "../../domain/schemas/check-version-schemas.ts";
import { type Bindings, settings } from "../../env.ts";
import { logger } from "../../log.ts";
import type { ServerDescription } from "../../protocol/runner.ts";
import { isDatabaseFull, isOverQuota } from "../../storage/accounts/account-bytes.ts";
import { database } from "../../storage/database.ts";
import { completeVersion as complete, findAwaiting } from "../../storage/models/versions.ts";

interface Told {
  model_id: string;
  number: number;
  /** Of an untrusted container: what cannot be used counts as not told. */
  description: ServerDescription;
}

export async function completeVersion(
  env: Bindings,
  { model_id, number, description }: Told,
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
  const told = described(version.configuration.interface ?? "cog", known, description);
  const fault = told.fault ?? faultOfSchemas(told.schemas);
  if (fault !== undefined) logger.warn("Schemas not taken", { model_id, number, fault });
  const { compatibilities } = told;
  const schemas = fault === undefined ? told.schemas : ANY_SCHEMAS;
  const { accountBytes: max_bytes, databaseBytes: max_total_bytes } = settings(env);
  const allowance = { user_id: owner_id, max_bytes, max_total_bytes };
  try {
    const makes = makesOf({ schemas, compatibilities }, name);
    await complete(db, version, { schemas, compatibilities, makes }, allowance);
  } catch (error) {
    if (!isOverQuota(error) && !isDatabaseFull(error)) throw error;
    // It stays as it is: a start tells again, once its owner has made room.
    logger.warn("Version not completed: its account is full", { model_id, number });
  }
}
