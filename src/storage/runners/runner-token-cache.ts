/**
 * Runner tokens as this isolate knows them, for what is open longer than the request that brought
 * the token: polls and channels. A revoked one is known here 10 s later at most.
 */

import { isRunnerToken } from "../accounts/tokens.ts";
import { remembered } from "../cache.ts";
import type { Database } from "../database.ts";

const good = remembered({ max: 10_000 }, async (db: Database, id: string) => {
  const at = Date.now();
  return (await isRunnerToken(db, id)) ? { at } : undefined;
});

/** When a token was last found good, unix ms: 10 s ago at most; undefined when it is revoked. */
export const runnerTokenKnownAt = async (db: Database, id: string): Promise<number | undefined> =>
  (await good.get(db, id))?.at;

/** After one was revoked: this isolate knows it at once. */
export const forgetRunnerTokens = good.forgetAll;
