/** Managing access tokens and runner tokens: creating, listing and revoking them. */
import { v7 as uuid } from "uuid";
import { hasRole, priorityOf } from "../../domain/accounts/access.ts";
import { newToken, sha256, tokenPrefix } from "../../domain/accounts/token.ts";
import { invalid, unknownNameIssues, ValidationFailure } from "../../domain/schemas/validation.ts";
import { notFound, ProblemError } from "../../errors/errors.ts";
import type { CreateToken, RunnerToken, Token } from "../../protocol/operator.ts";
import type { CreateOrganizationToken, OrganizationToken } from "../../protocol/organization.ts";
import {
  findModelsByName,
  insertRunnerToken,
  insertToken,
  listOrganizationTokens as organizationTokensOf,
  revokeToken as revoke,
  listRunnerTokens as runnerTokensOf,
  type TokenInsert,
  listTokens as tokensOf,
} from "../../storage/accounts/tokens.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { isLimitReached } from "../../storage/database.ts";
import { type Caller, requireAccountAccess } from "../access/access.ts";
import { forgetTokens } from "../access/authentication.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { unknownHardware } from "../runners/hardware.ts";
import type { Services } from "../services.ts";
import { actFor } from "./organizations.ts";

const MAX_TOKENS = 100;

/**
 * Creates a token, which is shown only in this response.
 * @param actor the maker, or the role of a service token, for an organization
 * @throws ValidationFailure; ProblemError conflict
 */
export async function createToken(
  services: Services,
  userId: string,
  { name, scopes, models, priority, expires_at }: CreateToken,
  actor: Pick<TokenInsert, "made_by" | "service_role"> = {},
): Promise<{ id: string; token: string }> {
  const { db } = services;
  if (scopes.includes("operator")) await requireOperatorsOwn(services, userId, models);
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
    ...actor,
  };
  const entry = auditEntry({
    action: "token.created",
    account_id: userId,
    targets: [{ type: "token", id, name }],
    after: { scopes, models, priority, expires_at, service_role: actor.service_role },
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

async function revokeFor(
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

/**
 * Creates a token for an organization: one of the caller, or a service token. It has no right that the caller's
 * own token lacks.
 * @throws ProblemError not_found, forbidden, conflict; ValidationFailure
 */
export async function createOrganizationToken(
  services: Services,
  caller: Caller,
  organizationName: string,
  { service_role = null, ...request }: CreateOrganizationToken,
): Promise<{ id: string; token: string }> {
  const { caller: acting } = await actFor(services, caller, organizationName, "member");
  if (service_role !== null) {
    await requireAccountAccess(services, acting, "A service token", "admin");
    if (!hasRole(acting, service_role))
      throw tooMuch(`your role is ${acting.role}, and a service token cannot have a higher one`);
  } else if (acting.maker === acting.token_id) {
    throw tooMuch("a service token can only create service tokens: send service_role");
  }
  requireNoMore(caller, request);
  const actor = { made_by: acting.maker, service_role };
  return createToken(services, acting.user_id, request, actor);
}

/** @throws ProblemError forbidden if the token would outdo the token that creates it */
function requireNoMore(
  { scopes, priority: held, expires_at }: Caller,
  request: Omit<CreateOrganizationToken, "service_role">,
): void {
  const missing = request.scopes.filter((scope) => !scopes.includes(scope));
  if (missing.length > 0) throw tooMuch(`your own token lacks the scope ${missing.join(" and ")}`);
  const ends = request.expires_at ? Date.parse(request.expires_at) : Number.POSITIVE_INFINITY;
  if (expires_at && ends > expires_at)
    throw tooMuch(
      `your own token expires at ${new Date(expires_at).toISOString()}: send an expires_at before that`,
    );
  const isWithin = request.priority ? priorityOf(request.priority, held) : held === null;
  if (!isWithin) throw tooMuch(`your own token allows priority '${held}' at most: send it`);
}

const tooMuch = (why: string) =>
  new ProblemError("forbidden", `This token cannot be created: ${why}.`);

/** Lists tokens of an organization, newest first: all for an admin, else the caller's. */
export async function listOrganizationTokens(
  services: Services,
  caller: Caller,
  organizationName: string,
  request: PageRequest,
): Promise<Page<OrganizationToken>> {
  const { caller: acting } = await actFor(services, caller, organizationName, "member");
  const maker = makerOfTokens(acting);
  return paginate(services, request, {
    name: `tokens/${acting.user_id}/${maker ?? ""}`,
    find: (keyset) => organizationTokensOf(services.db, acting.user_id, maker, keyset),
    keyOf: ({ id }) => [id],
    present: services.present.organizationToken,
  });
}

/** @throws ProblemError not_found, forbidden */
export async function revokeOrganizationToken(
  services: Services,
  caller: Caller,
  organizationName: string,
  id: string,
): Promise<void> {
  const { caller: acting } = await actFor(services, caller, organizationName, "member");
  await revokeFor(services, id, acting.user_id, makerOfTokens(acting));
}

/** Returns the maker whose tokens a caller manages. Undefined: all of the organization. */
const makerOfTokens = (caller: Caller): string | undefined =>
  hasRole(caller, "admin") ? undefined : caller.maker;
