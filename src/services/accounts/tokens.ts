/** Managing access tokens and runner tokens: creating, listing and revoking them. */
import { v7 as uuid } from "uuid";
import { newToken, sha256, tokenPrefix } from "../../domain/accounts/token.ts";
import { invalid, unknownNameIssues, ValidationFailure } from "../../domain/schemas/validation.ts";
import { notFound } from "../../errors/errors.ts";
import type { CreateToken, RunnerToken, Token } from "../../protocol/operator.ts";
import {
  findModelsByName,
  insertRunnerToken,
  insertToken,
  revokeToken as revoke,
  listRunnerTokens as runnerTokensOf,
  listTokens as tokensOf,
} from "../../storage/accounts/tokens.ts";
import { isLimitReached } from "../../storage/database.ts";
import { forgetTokens } from "../access/authentication.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { orConflict } from "../conflicts.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";

const MAX_TOKENS = 100;

/**
 * Creates a token, which is shown only in this response.
 * @throws ValidationFailure; ProblemError conflict
 */
export async function createToken(
  services: Services,
  userId: string,
  { name, scopes, models, priority, expires_at }: CreateToken,
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
    priority: priority ?? null,
    hash: await sha256(token),
    prefix: tokenPrefix(token),
    created_at: now,
    expires_at: expires,
  };
  await orConflict(
    withinQuota(services, insertToken(db, row, MAX_TOKENS, quotaOf(services, userId))),
    isLimitReached,
    `An account can have at most ${MAX_TOKENS} access tokens. Revoke an unused token.`,
  );
  return { id, token };
}

/** @throws ValidationFailure naming each model that does not exist or is not visible to the user */
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

/** Creates a token, which is shown only in this response. @throws ValidationFailure */
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

/** Lists tokens, newest first, without revoked ones. */
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
 * Revokes a token, at once in this isolate and within 10 s everywhere.
 * @throws ProblemError not_found
 */
export const revokeToken = (services: Services, id: string) => revokeFor(services, id, undefined);

/** Like `revokeToken`, for the user's own tokens. @throws ProblemError not_found */
export const revokeOwnToken = (services: Services, userId: string, id: string) =>
  revokeFor(services, id, userId);

async function revokeFor({ db }: Services, id: string, userId: string | undefined): Promise<void> {
  if (!(await revoke(db, id, userId))) throw notFound(`The token '${id}'`);
  // The cache is keyed by the token's text, which is not known here, so it forgets all tokens.
  forgetTokens();
}
