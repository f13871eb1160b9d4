/** Who is calling: access tokens, runner tokens, the operator's. */

import { LRUCache } from "lru-cache";
import { v7 as uuid } from "uuid";
import {
  isToken,
  newToken,
  sha256,
  type TokenKind,
  timingSafeEqual,
  tokenPrefix,
} from "../../domain/accounts/token.ts";
import { invalid, unknownNameIssues, ValidationFailure } from "../../domain/schemas/validation.ts";
import { notFound, ProblemError } from "../../errors.ts";
import type { CreateToken, RunnerToken, Token } from "../../protocol/operator.ts";
import {
  findModelsByName,
  findRunnerToken,
  findToken,
  insertRunnerToken,
  insertToken,
  markRunnerTokenUsed,
  markTokenUsed,
  revokeToken as revoke,
  revokeRunnerToken as revokeRunner,
  listRunnerTokens as runnerTokensOf,
  listTokens as tokensOf,
} from "../../storage/accounts/tokens.ts";
import { cached } from "../../storage/cache.ts";
import { isLimitReached } from "../../storage/database.ts";
import { forgetRunnerTokens } from "../../storage/runners/runner-token-cache.ts";
import { orConflict } from "../conflicts.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";
import { isSuspended, SUSPENDED } from "./access.ts";
import type { Caller, RunnerCaller } from "./caller.ts";
import { quotaOf, withinQuota } from "./storage-quota.ts";

/** What a request does while it is found out whose token it has. */
export interface TokenCheck {
  /** Runs a task beside the request, which does not wait for it. */
  aside: (task: () => Promise<void>) => void;
  /** Called before a token is looked up that may be anybody's guess. @throws to have it not looked up */
  beforeLookUp: () => Promise<void>;
}

interface Asked {
  services: Services;
  asking: TokenCheck;
}

/** Tokens that were good when they were last looked up. They are nobody's guess, also when that is long ago. */
const seenGood = new LRUCache<string, true>({ max: 10_000 });

/** Of an account: what nobody uses any more should be revoked, and a list be one that is read. */
const MAX_TOKENS = 100;

/** How much later than the truth the last use of a token may be told. */
const USE_MS = 5 * 60_000;

/** By the token itself: checksum and hash are only worked out when it is looked up. */
const access = cached({ max: 10_000 }, async (asked: Asked, token: string) => {
  const found = await lookUp(asked, token, "aus", findToken);
  if (found && isGood(found)) noteUse(asked, markTokenUsed, found);
  return found;
});
const runner = cached({ max: 10_000 }, async (asked: Asked, token: string) => {
  const known_at = Date.now();
  const found = await lookUp(asked, token, "ausr", findRunnerToken);
  if (found) noteUse(asked, markRunnerTokenUsed, found);
  return found && { ...found, known_at };
});

async function lookUp<Found>(
  { services, asking }: Asked,
  token: string,
  kind: TokenKind,
  find: (db: Services["db"], hash: string) => Promise<Found | undefined>,
): Promise<Found | undefined> {
  if (!isToken(token, kind)) return undefined;
  if (!seenGood.has(token)) await asking.beforeLookUp();
  const found = await find(services.db, await sha256(token));
  if (found) seenGood.set(token, true);
  else seenGood.delete(token);
  return found;
}

const isGood = ({ expires_at }: { expires_at: number | null }) =>
  expires_at === null || expires_at > Date.now();

/** Only what was just looked up gets here, so that a use costs nothing where it is cached. */
function noteUse(
  { services: { db }, asking }: Asked,
  mark: typeof markTokenUsed,
  { id, last_used_at }: { id: string; last_used_at: number | null },
): void {
  const now = Date.now();
  const before = now - USE_MS;
  if (last_used_at !== null && last_used_at >= before) return;
  asking.aside(() => mark(db, id, now, before));
}

const denied = () =>
  new ProblemError(
    "unauthenticated",
    "The access token in the header 'Authorization' is unknown, expired or revoked. Make another at /tokens.",
  );

/**
 * @param within how long ago it may have been looked up, ms: 10 s at most
 * @throws ProblemError unauthenticated
 */
export async function authenticate(
  services: Services,
  token: string,
  asking: TokenCheck,
  within?: number,
): Promise<Caller> {
  const found = await access.get({ services, asking }, token, within);
  if (!found || !isGood(found)) throw denied();
  if (isSuspended(found)) throw new ProblemError("unauthenticated", SUSPENDED);
  const { id, user_id, scopes, models } = found;
  return { token_id: id, user_id, scopes, models };
}

/** @throws ProblemError unauthenticated */
export async function authenticateRunner(
  services: Services,
  token: string,
  asking: TokenCheck,
): Promise<RunnerCaller> {
  const found = await runner.get({ services, asking }, token);
  if (!found) {
    throw new ProblemError(
      "unauthenticated",
      "The runner token in the header 'Authorization' is unknown or revoked.",
    );
  }
  return { token_id: found.id, token_known_at: found.known_at, hardware: found.hardware };
}

/** @throws ProblemError unauthenticated */
export function authenticateOperator({ settings }: Services, token: string): void {
  if (!settings.operatorToken) {
    throw new ProblemError(
      "unauthenticated",
      "This deployment has no operator token yet: wrangler secret put OPERATOR_TOKEN",
    );
  }
  if (!timingSafeEqual(token, settings.operatorToken)) {
    throw new ProblemError(
      "unauthenticated",
      "The operator token is wrong: this takes the deployment's OPERATOR_TOKEN.",
    );
  }
}

/**
 * The answer is the only place where the token is ever shown.
 * @throws ValidationFailure; ProblemError conflict
 */
export async function createToken(
  services: Services,
  userId: string,
  { name, scopes, models, expires_at }: CreateToken,
): Promise<{ id: string; token: string }> {
  const { db } = services;
  const now = Date.now();
  const expires = expires_at ? Date.parse(expires_at) : null;
  if (expires !== null && expires <= now)
    throw invalid(["body", "expires_at"], "it is in the past");
  const token = newToken("aus");
  const id = uuid();
  const row = {
    id,
    user_id: userId,
    name,
    scopes,
    models: models ? await modelIds(db, userId, models) : null,
    hash: await sha256(token),
    prefix: tokenPrefix(token),
    created_at: now,
    expires_at: expires,
  };
  await orConflict(
    withinQuota(services, insertToken(db, row, MAX_TOKENS, quotaOf(services, userId))),
    isLimitReached,
    `An account may have ${MAX_TOKENS} access tokens. Revoke one that nobody uses any more.`,
  );
  return { id, token };
}

/** @throws ValidationFailure naming each that is not there, or not theirs to see */
async function modelIds(db: Services["db"], userId: string, names: string[]): Promise<string[]> {
  const found = await findModelsByName(
    db,
    userId,
    names.map((name) => name.split("/")),
  );
  const known = found.map(({ owner, name }) => `${owner}/${name}`);
  const issues = unknownNameIssues(
    names,
    known,
    (n) => ["body", "models", String(n)],
    "/v1/models",
  );
  if (issues.length > 0) throw new ValidationFailure(issues);
  return [...new Set(found.map(({ id }) => id))];
}

/** The answer is the only place where the token is ever shown. @throws ValidationFailure */
export async function createRunnerToken(
  services: Services,
  request: { name: string; hardware: string[] },
): Promise<{ id: string; token: string }> {
  const issues = await unknownHardware(services, request.hardware, (n) => [
    "body",
    "hardware",
    String(n),
  ]);
  if (issues.length > 0) throw new ValidationFailure(issues);
  const token = newToken("ausr");
  const id = uuid();
  await insertRunnerToken(services.db, {
    ...request,
    id,
    hash: await sha256(token),
    prefix: tokenPrefix(token),
    created_at: Date.now(),
  });
  return { id, token };
}

/** A user's tokens that are not revoked, newest first. */
export const listTokens = (
  services: Services,
  userId: string,
  request: PageRequest,
): Promise<Page<Token>> =>
  paginate(services, request, {
    name: `tokens/${userId}`,
    find: (keyset) => tokensOf(services.db, userId, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.token,
  });

export const listRunnerTokens = (
  services: Services,
  request: PageRequest,
): Promise<Page<RunnerToken>> =>
  paginate(services, request, {
    name: "runner_tokens",
    find: (keyset) => runnerTokensOf(services.db, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.runnerToken,
  });

/**
 * Anybody's. Dead in this isolate at once, and everywhere within the time that the others remember,
 * 10 s.
 * @throws ProblemError not_found
 */
export const revokeToken = (services: Services, id: string) => end(services, id, undefined);

/** As of anybody's. @throws ProblemError not_found, also for what is somebody else's */
export const revokeOwnToken = (services: Services, userId: string, id: string) =>
  end(services, id, userId);

async function end({ db }: Services, id: string, userId: string | undefined): Promise<void> {
  if (!(await revoke(db, id, userId))) throw notFound(`The token '${id}'`);
  // They are cached by their texts, which nobody has here: each is looked up once more.
  access.forgetAll();
}

/** After an account with all its tokens is gone: this isolate knows it at once. */
export const forgetTokens = access.forgetAll;

/**
 * As of a user's token: its polls and channels end within those 10 s, too.
 * @throws ProblemError not_found
 */
export async function revokeRunnerToken({ db }: Services, id: string): Promise<void> {
  if (!(await revokeRunner(db, id, Date.now()))) throw notFound(`The runner token '${id}'`);
  runner.forgetAll();
  forgetRunnerTokens();
}
