/**
 * Checks that the tokens and sessions of long calls (streams, polls, channels, pulls) are still valid, with
 * caches by id.
 */
import { type Principal, RECENT_CHECK_MS } from "../../domain/accounts/access.ts";
import { cached } from "../cache.ts";
import type { Database } from "../database.ts";
import { findSessionPrincipal } from "./sign-in.ts";
import { findTokenById, isRunnerToken } from "./tokens.ts";
import { isModelSeen } from "./visible-models.ts";

const tokens = cached({ max: 10_000 }, findTokenById);

const sessions = cached({ max: 10_000 }, (db: Database, key: string) => {
  const [id = "", accountId = ""] = key.split(" ");
  return findSessionPrincipal(db, id, accountId);
});

export interface Credential {
  kind: "token" | "session";
  id: string;
  /** The account that the credential acts for. */
  user_id: string;
  /** When a client token or a stream token expires that the credential has issued, Unix ms. */
  expires_at?: number | undefined;
}

/**
 * Finds what a credential may do now. Undefined if it has ended.
 * @param maxAgeMs how long ago it may have been read
 */
export async function findPrincipal(
  db: Database,
  { kind, id, user_id, expires_at = Number.POSITIVE_INFINITY }: Credential,
  maxAgeMs = RECENT_CHECK_MS,
): Promise<Principal | undefined> {
  const found = await (kind === "token"
    ? tokens.get(db, id, maxAgeMs)
    : sessions.get(db, `${id} ${user_id}`, maxAgeMs));
  const now = Date.now();
  const isLive = found && (found.expires_at ?? Number.POSITIVE_INFINITY) > now && expires_at > now;
  return isLive ? found : undefined;
}

/**
 * Finds the access token that has issued a client token or a stream token. Undefined if it has ended.
 * @param maxAgeMs how long ago it may have been read, by default 10 s
 */
export async function findIssuer(db: Database, id: string, maxAgeMs?: number) {
  const found = await tokens.get(db, id, maxAgeMs);
  const isLive = found && (found.expires_at ?? Number.POSITIVE_INFINITY) > Date.now();
  return isLive ? found : undefined;
}

const seenModels = cached({ max: 10_000 }, async (db: Database, key: string) => {
  const [modelId = "", accountId = ""] = key.split(" ");
  return { isSeen: await isModelSeen(db, modelId, accountId) };
});

/**
 * Whether an account may still see a model of another account, as read at most RECENT_CHECK_MS ago. A model that
 * was deleted counts as seen: its predictions run to their end.
 */
export const sees = async (db: Database, accountId: string, modelId: string): Promise<boolean> =>
  (await seenModels.get(db, `${modelId} ${accountId}`, RECENT_CHECK_MS))?.isSeen ?? true;

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
