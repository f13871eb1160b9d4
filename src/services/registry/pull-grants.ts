/** The grants by which runners pull from the deployment's own registry (domain/registry/grant.ts). */
import { verifyGrant } from "../../domain/registry/grant.ts";
import { isRunnerToken } from "../../storage/accounts/tokens.ts";
import { cached } from "../../storage/cache.ts";
import type { Services } from "../services.ts";

/**
 * Whether a runner token, by its id, is valid. Refusals are remembered as well: a revoked token stays so,
 * and D1 is not asked for each layer that a pull under way still wants.
 */
const tokens = cached({ max: 10_000 }, async ({ db }: Services, id: string) => ({
  isValid: await isRunnerToken(db, id),
}));

/**
 * @param grantText as the registry's caller shows it: it may be anything
 * @returns the id of the model whose repository it opens; undefined if it opens none
 */
export async function grantedModel(
  services: Services,
  grantText: string,
): Promise<string | undefined> {
  const grant = await verifyGrant(services.settings.secretKeys, grantText, Date.now());
  if (!grant) return undefined;
  const token = await tokens.get(services, grant.token_id);
  return token?.isValid ? grant.model_id : undefined;
}

/** After a revocation, so that this isolate applies it at once. */
export const forgetGrantedTokens = tokens.forgetAll;
