/**
 * A cache of runner tokens, for polls and channels, which outlive the request that authenticated
 * them. A revoked token is noticed within 10 s.
 */

import { isRunnerToken } from "../accounts/tokens.ts";
import { cached } from "../cache.ts";
import type { Database } from "../database.ts";

const good = cached({ max: 10_000 }, async (db: Database, id: string) => {
  const at = Date.now();
  return (await isRunnerToken(db, id)) ? { at } : undefined;
});

/** When the token was last found valid, unix ms: at most 10 s ago. Undefined if it is revoked. */
export const runnerTokenKnownAt = async (db: Database, id: string): Promise<number | undefined> =>
  (await good.get(db, id))?.at;

/** After a revocation, so that this isolate notices it at once. */
export const forgetRunnerTokens = good.forgetAll;
