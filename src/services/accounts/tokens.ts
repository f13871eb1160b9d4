/** Managing access tokens and runner tokens: creating, listing, limiting and revoking them. */
import { v7 as uuid } from "uuid";
import { newToken, sha256, tokenPrefix } from "../../domain/accounts/token.ts";
import { invalid, unknownNameIssues, ValidationFailure } from "../../domain/schemas/validation.ts";
import { notFound } from "../../errors/errors.ts";
import {
  type CreateToken,
  isForOperators,
  type RunnerToken,
  type Token,
} from "../../protocol/operator.ts";
import type { TokenLimits } from "../../protocol/token-limits.ts";
import {
  findManagedToken,
  findModelsByName,
  insertRunnerToken,
  insertToken,
  revokeToken as revoke,
  listRunnerTokens as runnerTokensOf,
  setTokenLimits,
  type TokenInsert,
  listTokens as tokensOf,
} from "../../storage/accounts/tokens.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { isLimitReached } from "../../storage/database.ts";
import { forgetTokens } from "../access/authentication.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";

const MAX_TOKENS = 100;

/**
 * Creates a token, which is shown only in this response.
 * @param actor the maker, or the role of a service token, for an organization
 * @throws ValidationFailure; ProblemError conflict
 */
export async function createToken(
  services: Services,
  userId: string,
  { name, scopes, models, priority, expires_at, limits: asked }: CreateToken,
  actor: Pick<TokenInsert, "made_by" | "service_role"> = {},
): Promise<{ id: string; token: string }> {
  const { db } = services;
  const limits = orNone(asked);
  if (isForOperators(scopes)) await requireOperatorsOwn(services, userId, models, limits);
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
    limits,
    hash: await sha256(token),
    prefix: tokenPrefix(token),
    created_at: now,
    expires_at: expires,
    ...actor,
  };
  const entry = auditEntry({
    action: "token.created",
    account_id: userId,
    targets: [{ type: "token", id, name }],
    after: { scopes, models, priority, expires_at, limits, service_role: actor.service_role },
  });
  await orConflict(
    withinQuota(services, insertToken(db, row, MAX_TOKENS, quotaOf(services, userId), entry)),
    isLimitReached,
    `${actor.service_role == null ? "You" : "An organization"} can have at most ${MAX_TOKENS} access tokens. Revoke an unused token.`,
  );
  return { id, token };
}

/**
 * Allows the scope `operator` only to a token for everything in the own account of a person who is an operator.
 * Such a token has no right once they are demoted.
 * @throws ValidationFailure
 */
async function requireOperatorsOwn(
  { db }: Services,
  userId: string,
  models: CreateToken["models"],
  limits: TokenLimits | null,
): Promise<void> {
  const user = await findUser(db, userId);
  if (user?.operator_since == null)
    throw invalid(
      ["body", "scopes"],
      "Only an operator's own tokens can have the scope operator. Leave it out, or ask an operator to make this user one",
    );
  if (models)
    throw invalid(
      ["body", "models"],
      "A token with the scope operator cannot be limited to models",
    );
  if (limits) throw operatorsUnlimited();
}

/** A token with the scope `operator` can create any other, so that its own limits would mean nothing. */
const operatorsUnlimited = () =>
  invalid(["body", "limits"], "A token with the scope operator cannot have limits");

/** Returns the limits that are set, and null for none. */
function orNone(limits: TokenLimits | null | undefined): TokenLimits | null {
  const set = Object.entries(limits ?? {}).filter(([, limit]) => limit !== undefined);
  return set.length > 0 ? Object.fromEntries(set) : null;
}

/** @throws ValidationFailure naming each model that does not exist or is not visible to the user */
export async function modelIds(
  db: Services["db"],
  userId: string,
  names: string[],
): Promise<string[]> {
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
  const { name, hardware } = request;
  const entry = auditEntry({
    action: "runner_token.created",
    account_id: null,
    targets: [{ type: "runner_token", id, name }],
    after: { hardware },
  });
  await insertRunnerToken(
    services.db,
    {
      ...request,
      id,
      hash: await sha256(token),
      prefix: tokenPrefix(token),
      created_at: Date.now(),
    },
    entry,
  );
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

/** @param maker the member whose token it must be; undefined: any @throws ProblemError not_found */
export async function revokeFor(
  { db }: Services,
  id: string,
  userId: string | undefined,
  maker?: string,
): Promise<void> {
  const isRevoked = await revoke(db, id, userId, maker, ({ user_id, name }) =>
    auditEntry({
      action: "token.revoked",
      account_id: user_id,
      targets: [{ type: "token", id, name }],
    }),
  );
  if (!isRevoked) throw notFound(`The token '${id}'`);
  // The cache is keyed by the token's text, which is not known here, so it forgets all tokens.
  forgetTokens();
}

/** @throws ProblemError not_found */
export const readOwnToken = (services: Services, userId: string, id: string) =>
  readFor(services, id, userId);

/** @param maker the member whose token it must be; undefined: any @throws ProblemError not_found */
export async function readFor(
  services: Services,
  id: string,
  userId: string,
  maker?: string,
): Promise<Token> {
  const token = await findManagedToken(services.db, id, userId, maker);
  if (!token) throw notFound(`The token '${id}'`);
  return services.present.token(token);
}

/**
 * Changes the limits of a token, at once in this isolate and within 10 s everywhere.
 * @throws ProblemError not_found; ValidationFailure
 */
export const updateToken = (services: Services, id: string, asked: TokenLimits | null) =>
  updateFor(services, id, undefined, undefined, asked);

/** Like `updateToken`, for the user's own tokens. @throws ProblemError not_found; ValidationFailure */
export const updateOwnToken = (
  services: Services,
  userId: string,
  id: string,
  asked: TokenLimits | null,
) => updateFor(services, id, userId, undefined, asked);

/** @param maker the member whose token it must be; undefined: any @throws ProblemError not_found; ValidationFailure */
export async function updateFor(
  services: Services,
  id: string,
  userId: string | undefined,
  maker: string | undefined,
  asked: TokenLimits | null,
): Promise<Token> {
  const { db } = services;
  const token = await findManagedToken(db, id, userId, maker);
  if (!token) throw notFound(`The token '${id}'`);
  const limits = orNone(asked);
  if (limits && isForOperators(token.scopes)) throw operatorsUnlimited();
  const entry = auditEntry({
    action: "token.updated",
    account_id: token.user_id,
    targets: [{ type: "token", id, name: token.name }],
    before: { limits: token.limits },
    after: { limits },
  });
  const quota = quotaOf(services, token.user_id);
  const changed = await withinQuota(services, setTokenLimits(db, id, limits, quota, entry));
  if (changed.length === 0) throw notFound(`The token '${id}'`);
  // The cache is keyed by the token's text, which is not known here, so it forgets all tokens.
  forgetTokens();
  return services.present.token({ ...token, limits });
}
