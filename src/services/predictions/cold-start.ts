/**
 * Loads all that a create needs of D1 before the job is on its way, in an isolate that has nothing cached:
 * one round trip instead of three, one after the other. Each takes as long as D1 is away, up to 0.3 s.
 */
import { findToken, selectToken, userOfToken } from "../../storage/accounts/tokens.ts";
import { selectTarget } from "../../storage/models/targets.ts";
import { loadingEndpoints } from "../../storage/webhooks/endpoint-cache.ts";
import { selectEnabled } from "../../storage/webhooks/endpoints.ts";
import type { Services } from "../services.ts";
import { loadingTarget, targetNameOf } from "./version-resolution.ts";

/**
 * Finds the token together with the rest, which is kept for later look-ups. Everything else is selected by
 * the token's user: for a token that does not exist D1 looks up nothing more, whatever it names.
 * @param reference the model and version that are named; undefined: not known yet
 */
export async function findTokenToCreate(
  { db }: Services,
  hash: string,
  reference: string | undefined,
): ReturnType<typeof findToken> {
  if (reference === undefined) return findToken(db, hash);
  const target = targetNameOf(reference);
  const [keepTarget, keepEndpoints] = [loadingTarget(target), loadingEndpoints()];
  const user = userOfToken(hash);
  const [[token], models, versions, endpoints] = await db.batch([
    selectToken(db, hash),
    ...selectTarget(db, target, user),
    selectEnabled(db, user),
  ]);
  if (!token) return undefined;
  const { user_id } = token;
  keepTarget(user_id, models, versions);
  keepEndpoints(user_id, endpoints);
  return token;
}
