/** Managing the access tokens of organizations. */
import { hasRole, priorityOf } from "../../domain/accounts/access.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { Token } from "../../protocol/operator.ts";
import type { CreateOrganizationToken, OrganizationToken } from "../../protocol/organization.ts";
import type { TokenLimits } from "../../protocol/token-limits.ts";
import { listOrganizationTokens as organizationTokensOf } from "../../storage/accounts/tokens.ts";
import { type Caller, requireAccountAccess, requireUnlimited } from "../access/access.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import type { Services } from "../services.ts";
import { hasBudget } from "./budgets.ts";
import { actFor } from "./organizations.ts";
import { createToken, readFor, revokeFor, updateFor } from "./tokens.ts";

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
  if (await hasBudget(services, caller)) throw tooMuch("your own token has a budget");
  const actor = { made_by: acting.maker, service_role };
  return createToken(services, acting.user_id, request, actor);
}

/** @throws ProblemError forbidden if the token would outdo the token that creates it */
function requireNoMore(
  { scopes, priority: held, limits, expires_at }: Caller,
  request: Omit<CreateOrganizationToken, "service_role">,
): void {
  if (limits) throw tooMuch("your own token has limits");
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
export async function readOrganizationToken(
  services: Services,
  caller: Caller,
  organizationName: string,
  id: string,
): Promise<Token> {
  const { caller: acting } = await actFor(services, caller, organizationName, "member");
  return readFor(services, id, acting.user_id, makerOfTokens(acting));
}

/**
 * Changes the limits of a token of an organization.
 * @throws ProblemError not_found, forbidden; ValidationFailure
 */
export async function updateOrganizationToken(
  services: Services,
  caller: Caller,
  organizationName: string,
  id: string,
  asked: TokenLimits | null,
): Promise<Token> {
  requireUnlimited(caller, "change the limits of tokens");
  const { caller: acting } = await actFor(services, caller, organizationName, "member");
  return updateFor(services, id, acting.user_id, makerOfTokens(acting), asked);
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
