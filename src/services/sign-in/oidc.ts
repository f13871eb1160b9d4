/** Logins with the deployment's OpenID Connect provider, and the memberships that come from its groups. */
import type { OidcSettings } from "../../env-oidc.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import { OIDC } from "../../protocol/oidc.ts";
import { ROLES, type Role } from "../../protocol/organization.ts";
import { findOrganizations, setGroupMemberships } from "../../storage/accounts/group-members.ts";
import {
  deleteIdentities,
  findIdentity,
  recordIdentity,
} from "../../storage/accounts/identities.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { changeRecorded } from "../../storage/audit/entries.ts";
import { forgetTokens } from "../access/authentication.ts";
import { type MemberAction, memberEntry } from "../audit/people.ts";
import { loginEntry } from "../audit/sign-in.ts";
import { forgetModels } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { requireRecentLogin } from "./admission.ts";
import { getAuth } from "./auth-loader.ts";
import { withPerson } from "./oidc-person.ts";
import { listSignInMethods, type SignInMethods } from "./security.ts";
import type { Session } from "./sessions.ts";

/** The deployment's provider. @throws ProblemError not_found */
export function requireOidc({ settings }: Services): OidcSettings {
  if (settings.oidc) return settings.oidc;
  throw notFound("Login with OpenID Connect", "This deployment has no OIDC_ISSUER.");
}

/** Answers a callback of the provider, and sets the memberships of the person who logs in. */
export async function answerCallback(
  services: Services,
  answer: () => Promise<Response>,
): Promise<Response> {
  const { response, person } = await withPerson(answer);
  const loginId = person && (await recordIdentity(services.db, person.accountId, person.identity));
  if (loginId !== undefined) await joinByGroups(services, loginId);
  return response;
}

/** Sets the memberships of a person from the groups of their last login. Without an account, there are none yet. */
export async function joinByGroups(services: Services, loginId: string): Promise<void> {
  const { settings, db } = services;
  const [identity, user] = await Promise.all([findIdentity(db, loginId), findUser(db, loginId)]);
  if (!settings.oidc || !identity || !user) return;
  const roles = rolesOf(settings.oidc, identity.groups);
  const organizations = await findOrganizations(db, [...roles.keys()]);
  const memberships = organizations.map(({ id, username }) => ({
    organization_id: id,
    role: roles.get(username) ?? "member",
  }));
  const known = new Set(organizations.map(({ username }) => username));
  for (const name of roles.keys()) {
    if (known.has(name)) continue;
    logger.warn(
      "OIDC_GROUPS names an organization that does not exist. Create it, or correct its name; its people join at their next login",
      { organization: name },
    );
  }
  const lapsesAt = identity.at + settings.oidc.lapseMs;
  const sender = { type: "user", id: user.id, name: user.username } as const;
  const entryOf = (action: MemberAction) => memberEntry(action, "", user, {}, sender);
  await setGroupMemberships(db, loginId, memberships, { now: Date.now(), lapsesAt }, entryOf);
  forgetTokens();
  forgetModels();
}

/** Returns the highest role in each organization, by its username. */
function rolesOf({ groups }: OidcSettings, names: string[]): Map<string, Role> {
  const roles = new Map<string, Role>();
  for (const name of names) {
    const found = groups.get(name);
    if (!found) continue;
    const { organization, role } = found;
    const other = roles.get(organization);
    if (other === undefined || ROLES.indexOf(role) > ROLES.indexOf(other))
      roles.set(organization, role);
  }
  return roles;
}

/** Returns the username that the provider suggests for a new person; empty: none. */
export const suggestedUsername = async ({ db }: Services, loginId: string): Promise<string> =>
  (await findIdentity(db, loginId))?.username ?? "";

/**
 * Begins to link the provider's account of a person to theirs.
 * @returns the provider's authorization URL, and the cookies for the way back
 * @throws ProblemError not_found, forbidden; conflict if one is linked
 */
export async function linkIdentity(
  services: Services,
  session: Session,
  { origin, headers }: { origin: string; headers: Headers },
  address: string,
): Promise<{ url: string; cookies: string[] }> {
  const { name } = requireOidc(services);
  requireRecentLogin(session);
  const { providers } = await listSignInMethods(services, session.login.id);
  if (providers.includes(OIDC))
    throw conflict(`Your account is linked already. Unlink ${name} before you link another.`);
  const { api } = await getAuth(services, origin);
  const answer = await api.linkSocialAccount({
    body: { provider: OIDC, callbackURL: address, errorCallbackURL: address },
    headers,
    returnHeaders: true,
  });
  return { url: answer.response.url, cookies: answer.headers.getSetCookie() };
}

/** @throws ProblemError not_found, forbidden; conflict for the only way to log in */
export async function unlinkIdentity(services: Services, session: Session): Promise<void> {
  const { name } = requireOidc(services);
  requireRecentLogin(session);
  const methods = await listSignInMethods(services, session.login.id);
  if (!methods.providers.includes(OIDC)) throw notFound(`A link to ${name}`);
  if (isOnlyWay(services, methods))
    throw conflict(`${name} is your only way to log in. Add another one first.`);
  const target = { type: "identity", id: "", name };
  const entry = await loginEntry(services, "identity.unlinked", session.login.id, { target });
  await changeRecorded(services.db, deleteIdentities(services.db, session.login.id), entry);
}

/** Whether somebody with a linked identity has no other way to log in. */
export const isOnlyWay = (
  { settings }: Services,
  { providers, passkeys }: SignInMethods,
): boolean =>
  settings.oidcOnly || (providers.every((one) => one === OIDC) && passkeys.length === 0);
