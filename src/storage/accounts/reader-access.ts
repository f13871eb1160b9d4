/**
 * Checks that the tokens and sessions of long calls (streams, polls, channels, pulls) are still valid, with
 * caches by id.
 */
import { RECENT_CHECK_MS } from "../../domain/accounts/access.ts";
import { cached } from "../cache.ts";
import type { Database } from "../database.ts";
import { findLiveSession } from "./sign-in.ts";
import { findLiveToken, isRunnerToken } from "./tokens.ts";

const tokens = cached({ max: 10_000 }, findLiveToken);

const sessions = cached({ max: 10_000 }, async (db: Database, id: string) => {
  const session = await findLiveSession(db, id);
  return session && { expires_at: session.expires_at.getTime() };
});

const BY_KIND = { token: tokens, session: sessions };

export interface Credential {
  kind: keyof typeof BY_KIND;
  id: string;
}

/** Whether the credential was valid at most RECENT_CHECK_MS ago, and has not expired since. */
export async function isLive(db: Database, { kind, id }: Credential): Promise<boolean> {
  const found = await BY_KIND[kind].get(db, id, RECENT_CHECK_MS);
  return found !== undefined && (found.expires_at === null || found.expires_at > Date.now());
}

/**
 * Checks of runner tokens by id. A refusal is cached as well, or a revoked token could make its runners'
 * pulls ask D1 about each layer.
 */
const runnerTokenChecks = cached({ max: 10_000 }, async (db: Database, id: string) => {
  const at = Date.now();
  return { at: (await isRunnerToken(db, id)) ? at : undefined };
});

/**
 * @returns when the token was last known to be valid, Unix ms, at most 10 s ago; undefined if it is revoked
 */
export const runnerTokenKnownAt = async (db: Database, id: string): Promise<number | undefined> =>
  (await runnerTokenChecks.get(db, id))?.at;

/** After a revocation, this isolate forgets its checks at once, and others within 10 s. */
export const forgetRunnerTokenChecks = runnerTokenChecks.forgetAll;
