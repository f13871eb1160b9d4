/** The grants with which runners pull from the deployment's own registry (domain/registry/grant.ts). */
import { verifyGrant } from "../../domain/registry/grant.ts";
import { runnerTokenKnownAt } from "../../storage/accounts/reader-access.ts";
import type { Services } from "../services.ts";

/**
 * @param grantText the grant as the client sent it: any text
 * @returns the id of the model whose repository it opens; undefined if it opens none
 */
export async function grantedModel(
  services: Services,
  grantText: string,
): Promise<string | undefined> {
  const grant = await verifyGrant(services.settings.secretKeys, grantText, Date.now());
  if (!grant) return undefined;
  const knownAt = await runnerTokenKnownAt(services.db, grant.token_id);
  return knownAt === undefined ? undefined : grant.model_id;
}
