/** Completes a version by what its container's server tells, when it is first started. */
import { ANY_SCHEMAS, described } from "../../domain/images/server-description.ts";
import { faultOfSchemas } from "../../domain/schemas/check-version-schemas.ts";
import { logger } from "../../log.ts";
import type { ServerDescription } from "../../protocol/runner.ts";
import type { Database } from "../../storage/database.ts";
import { completeVersion as complete, findVersion } from "../../storage/models/versions.ts";

interface Told {
  model_id: string;
  number: number;
  /** Of an untrusted container: what cannot be used counts as not told. */
  description: ServerDescription;
}

export async function completeVersion(
  db: Database,
  { model_id, number, description }: Told,
): Promise<void> {
  const version = await findVersion(db, model_id, number);
  if (!version?.awaits) return;
  const { awaits, configuration } = version;
  const known = {
    schemas: awaits.includes("schemas") ? undefined : version.schemas,
    compatibilities: awaits.includes("compatibilities") ? undefined : version.compatibilities,
  };
  const told = described(configuration.interface ?? "cog", known, description);
  const fault = faultOfSchemas(told.schemas);
  if (fault !== undefined) logger.warn("Schemas not taken", { model_id, number, fault });
  const schemas = fault === undefined ? told.schemas : ANY_SCHEMAS;
  await complete(db, model_id, number, { ...told, schemas }).run();
}
