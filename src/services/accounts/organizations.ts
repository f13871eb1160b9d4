/** Organizations: creating, listing, changing and deleting them, and acting for them. */
import { v7 as uuid } from "uuid";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import type {
  CreateOrganization,
  Organization,
  Role,
  UpdateOrganization,
} from "../../protocol/organization.ts";
import {
  findOrganization,
  insertOrganization,
  isOverLimit,
  isOwnerless,
  listOrganizations as organizationsOf,
} from "../../storage/accounts/organizations.ts";
import { findUser, type UserRow } from "../../storage/accounts/users.ts";
import { isDuplicate } from "../../storage/database.ts";
import {
  type Caller,
  isSuspended,
  lacksSecondFactor,
  requireAccountAccess,
  requireUnlimited,
} from "../access/access.ts";
import { getUser } from "../access/accounts.ts";
import { currentCaller, forgetTokens } from "../access/authentication.ts";
import { auditEntry } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import type { Services } from "../services.ts";
import { deleteAccount } from "./delete-account.ts";
import { MAX_ORGANIZATIONS, roleToChange, updateProfile } from "./users.ts";

/** A caller that acts for an organization, with the organization. */
export interface Acting {
  organization: UserRow;
  caller: Caller;
  /** Whether the person who acts has a second factor, or the session has proved it. */
  hasFactor: boolean;
}

/**
 * Returns the caller as which a person, or a token of the organization, acts for an organization.
 * @throws ProblemError unauthenticated; not_found if the caller has no role in it; forbidden for a limited token,
 * a role below `least`, or a suspended organization, which members can only read and leave
 */
export async function actFor(
  services: Services,
  caller: Caller,
  username: string,
  least: Role,
): Promise<Acting> {
  const [current, found] = await Promise.all([
    currentCaller(services, caller),
    findOrganization(services.db, username, caller.user_id, caller.maker || caller.user_id),
  ]);
  const acting = found && actingCaller(current, found.organization, found.role);
  if (!found || !acting) throw organizationNotFound(username);
  // A token of the organization has been checked (services/access/authentication.ts).
  const isOwn = caller.user_id === found.organization.id && !caller.is_session;
  if (!isOwn) requireSecondFactor(found.organization, caller, found.has_factor);
  await requireAccountAccess(services, acting, `The organization '${username}'`, least);
  if (least !== "member") requireUnsuspended(found.organization);
  const { organization, has_factor } = found;
  return { organization, caller: acting, hasFactor: meetsFactor(caller, has_factor) };
}

export const organizationNotFound = (username: string) =>
  notFound(`The organization '${username}'`, "Check its name, and that you are a member.");

const meetsFactor = ({ is_session, proves_factor }: Caller, hasFactor: boolean): boolean =>
  is_session ? proves_factor === true : hasFactor;

/**
 * Requires the second factor that an organization asks of its members: of a session that it began with one, of a
 * token that its person has one.
 * @throws ProblemError forbidden
 */
export function requireSecondFactor(
  { username, requires_second_factor }: UserRow,
  caller: Caller,
  hasFactor: boolean,
): void {
  if (requires_second_factor && !meetsFactor(caller, hasFactor))
    throw lacksSecondFactor(`The organization '${username}'`);
}

/** @throws ProblemError forbidden */
export function requireUnsuspended(organization: UserRow): void {
  if (!isSuspended(organization)) return;
  throw new ProblemError(
    "forbidden",
    `The organization '${organization.username}' is suspended. Ask the operator of this deployment why.`,
  );
}

function actingCaller(caller: Caller, { id }: UserRow, role: Role | null): Caller | undefined {
  if (caller.user_id === id) return caller;
  return role === null ? undefined : { ...caller, user_id: id, maker: caller.user_id, role };
}

/**
 * Creates an organization whose first owner is the caller.
 * @throws ProblemError forbidden, conflict
 */
export async function createOrganization(
  services: Services,
  caller: Caller,
  request: CreateOrganization,
): Promise<Organization> {
  await requireAccountAccess(services, caller, "New organizations", "owner");
  requireUnlimited(caller, "create organizations");
  const { organizationsPerUser: max } = services.settings;
  const user = await findUser(services.db, caller.user_id);
  if (user?.kind !== "user")
    throw new ProblemError(
      "forbidden",
      "An organization is created by a person. Use a token of your own account.",
    );
  if (max === 0)
    throw new ProblemError(
      "forbidden",
      "Only operators create organizations here. Ask the operator of this deployment for one.",
    );
  return insert(services, request, user, max);
}

/** Creates an organization for a user, without a limit. @throws ProblemError not_found, conflict */
export async function createOrganizationFor(
  services: Services,
  { owner, ...request }: CreateOrganization & { owner: string },
): Promise<Organization> {
  const user = await getUser(services, owner);
  if (user.kind !== "user")
    throw conflict(`'${owner}' is an organization. Name a person as owner.`);
  return insert(services, request, user, undefined);
}

async function insert(
  services: Services,
  request: CreateOrganization,
  owner: UserRow,
  max: number | undefined,
): Promise<Organization> {
  const now = Date.now();
  const row = {
    ...request,
    id: uuid(),
    kind: "organization" as const,
    avatar_url: "",
    // Only what users create themselves counts against their limit.
    created_by: max === undefined ? null : owner.id,
    created_at: now,
    updated_at: now,
  };
  const entry = auditEntry({
    action: "organization.created",
    account_id: row.id,
    targets: [
      { type: "organization", id: row.id, name: row.username },
      { type: "user", id: owner.id, name: owner.username },
    ],
    after: { ...request, owner: owner.username },
  });
  const limited = orConflict(
    insertOrganization(services.db, row, owner.id, max, entry),
    isOverLimit,
    `You have created ${max} organizations, including any deleted in the last two days. Delete one, or ask the operator to raise ORGANIZATIONS_PER_USER.`,
  );
  const owned = orConflict(
    limited,
    isOwnerless,
    "The owner's account was deleted or suspended. Name another owner.",
  );
  await orConflict(
    owned,
    isDuplicate,
    `The username '${request.username}' is taken, or was used by another account.`,
  );
  const organization = await findUser(services.db, row.id);
  if (!organization) throw notFound(`The organization '${request.username}'`);
  return services.present.organization(organization, "owner");
}

/** Lists the organizations in which the caller acts: a person's, or the one of the token. @throws ProblemError forbidden */
export async function listOrganizations(
  services: Services,
  caller: Caller,
): Promise<Organization[]> {
  await requireAccountAccess(services, caller, "Your organizations", "member");
  const own = await findUser(services.db, caller.user_id);
  if (own?.kind === "organization") return [services.present.organization(own, caller.role)];
  const rows = await organizationsOf(services.db, caller.user_id, MAX_ORGANIZATIONS);
  return rows.map(({ organization, role }) => services.present.organization(organization, role));
}

/** @throws ProblemError not_found, forbidden */
export async function readOrganization(
  services: Services,
  caller: Caller,
  username: string,
): Promise<Organization> {
  const acting = await actFor(services, caller, username, "member");
  return services.present.organization(acting.organization, acting.caller.role);
}

/** @throws ProblemError not_found, forbidden; conflict for a username that is taken */
export async function updateOrganization(
  services: Services,
  caller: Caller,
  username: string,
  changes: UpdateOrganization,
): Promise<Organization> {
  const acting = await actFor(services, caller, username, roleToChange(changes));
  if (changes.requires_second_factor && !acting.hasFactor)
    throw new ProblemError(
      "forbidden",
      "You need a second factor yourself before you require it. Add one at /account/security, and log in with it.",
    );
  await updateProfile(services, acting.caller, changes);
  if (changes.requires_second_factor !== undefined) forgetTokens();
  return readOrganization(services, caller, changes.username ?? username);
}

/** @throws ProblemError not_found, forbidden */
export async function deleteOrganization(
  services: Services,
  caller: Caller,
  username: string,
): Promise<void> {
  await deleteAccount(services, (await actFor(services, caller, username, "owner")).caller);
}
