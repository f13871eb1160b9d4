/** Resolves bearer tokens: access tokens of users, runner tokens, and OPERATOR_TOKEN. */
import { LRUCache } from "lru-cache";
import { isSignedToken } from "../../domain/accounts/signed-token.ts";
import { isToken, sha256, type TokenKind, timingSafeEqual } from "../../domain/accounts/token.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { Role } from "../../protocol/organization.ts";
import { findPrincipal, forgetRunnerTokenChecks } from "../../storage/accounts/reader-access.ts";
import {
  findRunnerToken,
  findToken,
  markRunnerTokenUsed,
  markTokenUsed,
} from "../../storage/accounts/tokens.ts";
import { cached } from "../../storage/cache.ts";
import type { Services } from "../services.ts";
import {
  type Caller,
  isSuspended,
  lacksSecondFactor,
  type Operator,
  type RunnerCaller,
  requireAccountAccess,
  SUSPENDED,
} from "./access.ts";
import { rememberAccountObject } from "./accounts.ts";
import { authenticateClient } from "./signed-tokens.ts";

/** Hooks for what a request does while its token is resolved. */
export interface TokenCheck {
  /** Runs a task that the request does not wait for. */
  runInBackground: (task: () => Promise<void>) => void;
  /** Called before looking up a token that may be a guess. @throws to prevent the look-up */
  beforeLookUp: () => Promise<void>;
  /** Looks an access token up, with what else the request needs; by default the token alone. */
  findToken?: ((services: Services, hash: string) => ReturnType<typeof findToken>) | undefined;
}

interface LookUp {
  services: Services;
  check: TokenCheck;
}

/** Tokens that were valid when last looked up, however long ago: they are not guesses. */
const seenValid = new LRUCache<string, true>({ max: 10_000 });

/** The most by which the recorded last use of a token may lag behind. */
const LAST_USE_MS = 5 * 60_000;

/** Keyed by the token itself: checksum and hash are computed only for a look-up. */
const accessTokens = cached({ max: 10_000 }, async (lookUp: LookUp, token: string) => {
  const { findToken = findTokenAlone } = lookUp.check;
  const row = await find(lookUp, token, "aus", findToken);
  if (row) rememberAccountObject(row.user_id, row.account_object);
  if (row && isUnexpired(row)) recordUse(lookUp, markTokenUsed, { ...row, id: row.token_id });
  return row;
});
const runnerTokens = cached(
  { max: 10_000, failingMs: 60_000 },
  async (lookUp: LookUp, token: string) => {
    const known_at = Date.now();
    const row = await find(lookUp, token, "ausr", ({ db }, hash) => findRunnerToken(db, hash));
    if (row) recordUse(lookUp, markRunnerTokenUsed, row);
    return row && { ...row, known_at };
  },
);

const findTokenAlone = ({ db }: Services, hash: string) => findToken(db, hash);

async function find<Row>(
  { services, check }: LookUp,
  token: string,
  kind: TokenKind,
  findRow: (services: Services, hash: string) => Promise<Row | undefined>,
): Promise<Row | undefined> {
  if (!isToken(token, kind)) return undefined;
  if (!seenValid.has(token)) await check.beforeLookUp();
  const row = await findRow(services, await sha256(token));
  if (row) seenValid.set(token, true);
  else seenValid.delete(token);
  return row;
}

const isUnexpired = ({ expires_at }: { expires_at: number | null }) =>
  expires_at === null || expires_at > Date.now();

/** `recordUse` runs only after a look-up, so that a cached token costs no write. */
function recordUse(
  { services: { db }, check }: LookUp,
  mark: typeof markTokenUsed,
  { id, last_used_at }: { id: string; last_used_at: number | null },
): void {
  const now = Date.now();
  const before = now - LAST_USE_MS;
  if (last_used_at !== null && last_used_at >= before) return;
  check.runInBackground(() => mark(db, id, now, before));
}

/**
 * @param maxAgeMs how old a cached token may be: 10 s at most
 * @throws ProblemError unauthenticated; forbidden if its maker lacks a required second factor
 */
export async function authenticate(
  services: Services,
  token: string,
  check: TokenCheck,
  maxAgeMs?: number,
): Promise<Caller> {
  if (isSignedToken(token, "ausc")) return authenticateClient(services, token, maxAgeMs);
  if (isSignedToken(token, "ause")) {
    throw unauthenticated(
      "A stream token only reads the events of its prediction, at its URL. Use an access token for everything else.",
    );
  }
  const row = await accessTokens.get({ services, check }, token, maxAgeMs);
  if (!row || !isUnexpired(row)) {
    throw unauthenticated(
      "The access token in the 'Authorization' header is unknown, expired or revoked. Create another at /tokens.",
    );
  }
  if (isSuspended(row)) throw unauthenticated(SUSPENDED);
  if (row.lacks_factor) throw lacksSecondFactor("The organization of this token");
  const { token_id, name, user_id, maker, maker_name, role } = row;
  const { scopes, models, priority, limits, expires_at } = row;
  return {
    ...{ token_id, token_name: name, user_id, maker, maker_name, role },
    ...{ scopes, models, priority, limits, expires_at },
    is_operator: maker === "" && row.operator_since !== null,
  };
}

/** @throws ProblemError unauthenticated */
export async function authenticateRunner(
  services: Services,
  token: string,
  check: TokenCheck,
): Promise<RunnerCaller> {
  const row = await runnerTokens.get({ services, check }, token);
  if (!row) throw unknownRunnerToken();
  const { id, known_at, hardware } = row;
  return { token_id: id, token_known_at: known_at, hardware };
}

export const unknownRunnerToken = () =>
  unauthenticated("The runner token in the 'Authorization' header is unknown or revoked.");

/** @throws ProblemError unauthenticated */
export function authenticateOperatorToken(services: Services, token: string): void {
  if (!services.settings.operatorToken) {
    throw unauthenticated(
      "This deployment has no operator token. Set one with: wrangler secret put OPERATOR_TOKEN",
    );
  }
  if (!isOperatorToken(services, token))
    throw unauthenticated("The operator token is wrong. Use the deployment's OPERATOR_TOKEN.");
}

const isOperatorToken = ({ settings: { operatorToken } }: Services, token: string): boolean =>
  operatorToken !== undefined && timingSafeEqual(token, operatorToken);

/**
 * Resolves OPERATOR_TOKEN, or the access token of a user. It does not check that the user is an operator.
 * @param maxAgeMs how old a cached access token may be
 * @throws ProblemError unauthenticated
 */
export async function authenticateOperator(
  services: Services,
  token: string,
  check: TokenCheck,
  maxAgeMs?: number,
): Promise<Operator> {
  if (isOperatorToken(services, token)) return { kind: "operator_token" };
  if (!isToken(token, "aus"))
    throw unauthenticated(
      "The token in the 'Authorization' header is no access token. Send an operator's access token with the scope operator, which they create at /tokens.",
    );
  return { kind: "token", caller: await authenticate(services, token, check, maxAgeMs) };
}

const unauthenticated = (detail: string) => new ProblemError("unauthenticated", detail);

/**
 * Returns a caller with the role that its token or session has now. What a cached role makes may outlive the
 * cache: roles, members, tokens, and endpoints that receive everything.
 * @throws ProblemError unauthenticated
 */
export async function currentCaller({ db }: Services, caller: Caller): Promise<Caller> {
  const { token_id: id, user_id } = caller;
  const kind = caller.is_session ? "session" : "token";
  const now = await findPrincipal(db, { kind, id, user_id }, 0);
  if (!now) throw accessEnded();
  return { ...caller, role: now.role };
}

/**
 * Like `requireAccountAccess`, with the role that the caller's token or session has now.
 * @throws ProblemError unauthenticated, forbidden
 */
export async function requireCurrentAccess(
  services: Services,
  caller: Caller,
  what: string,
  least: Role,
): Promise<void> {
  // The role in one's own account never changes.
  const current = caller.maker === "" ? caller : await currentCaller(services, caller);
  await requireAccountAccess(services, current, what, least);
}

/** The error for a token that was valid when its stream began, and no longer is. */
export const accessEnded = () =>
  unauthenticated(
    "The access token in the 'Authorization' header is unknown, expired or revoked, or its account is suspended. Create another at /tokens, and resume with it.",
  );

/**
 * After a change of tokens or accounts, this isolate forgets its cached tokens at once, and others within 10
 * s.
 */
export const forgetTokens = accessTokens.forgetAll;

/** After a change of runner tokens, this isolate forgets them at once, and others within 10 s. */
export function forgetRunnerTokens(): void {
  runnerTokens.forgetAll();
  forgetRunnerTokenChecks();
}
