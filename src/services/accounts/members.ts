/** Members of organizations, and the invitations with which they join. */
import { v7 as uuid } from "uuid";
import { hasRole } from "../../domain/accounts/access.ts";
import { newToken, sha256 } from "../../domain/accounts/token.ts";
import { conflict, notFound, ProblemError } from "../../errors/errors.ts";
import type {
  CreateOrganizationInvitation,
  Member,
  Organization,
  OrganizationInvitation,
  Role,
} from "../../protocol/organization.ts";
import {
  acceptInvitation,
  appointOwner as appoint,
  deleteInvitation,
  findMember,
  type InvitationRow,
  insertInvitation,
  listInvitations as invitationsOf,
  MAX_MEMBERS,
  listMembers as membersOf,
  removeMember as remove,
  updateRole,
} from "../../storage/accounts/organizations.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { type Caller, requireAccountAccess, requireUnlimited } from "../access/access.ts";
import { getUser } from "../access/accounts.ts";
import { forgetTokens } from "../access/authentication.ts";
import { invitationTarget, memberEntry } from "../audit/people.ts";
import { auditEntry } from "../audit/record.ts";
import { type Page, type PageRequest, paginate } from "../pagination.ts";
import { forgetModels } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import { findInvitationToJoin } from "../sign-in/invitations.ts";
import { actFor } from "./organizations.ts";

const MAX_INVITATIONS = 100;
const VALID_MS = 7 * 86_400_000;

/**
 * Lists members, those with the oldest accounts first.
 * @param part of their usernames and names; empty for all
 * @throws ProblemError not_found, forbidden
 */
export async function listMembers(
  services: Services,
  caller: Caller,
  username: string,
  request: PageRequest,
  part = "",
): Promise<Page<Member>> {
  const { organization } = await actFor(services, caller, username, "member");
  return paginate(services, request, {
    name: `members/${organization.id}?${part}`,
    find: (keyset) => membersOf(services.db, organization.id, part, keyset),
    keyOf: ({ user }) => [user.id],
    present: services.present.member,
  });
}

/**
 * Changes the role of a member.
 * @throws ProblemError not_found, forbidden; conflict if no owner would be left
 */
export async function setMember(
  services: Services,
  caller: Caller,
  organizationName: string,
  username: string,
  role: Role,
): Promise<Member> {
  const acting = await actFor(services, caller, organizationName, "admin");
  requireUnlimited(caller, "change roles");
  const found = await requireMember(services, acting.organization.id, username);
  if (found.role === "owner" || role === "owner")
    requireOwner(acting.caller, "make or unmake owners");
  if (found.role === role) return services.present.member(found);
  const { id } = acting.organization;
  const entry = memberEntry("member.updated", id, found.user, { before: found.role, after: role });
  if (!(await updateRole(services.db, id, found.user.id, role, acting.caller.role, entry)))
    throw onlyOwner(organizationName);
  forgetRoles();
  return services.present.member({ ...found, role });
}

/**
 * Removes a member with their tokens. Members may remove themselves.
 * @throws ProblemError not_found, forbidden; conflict if no owner would be left
 */
export async function removeMember(
  services: Services,
  caller: Caller,
  organizationName: string,
  username: string,
): Promise<void> {
  const acting = await actFor(services, caller, organizationName, "member");
  const { id } = acting.organization;
  const found = await requireMember(services, id, username);
  if (found.user.id !== acting.caller.maker) {
    await requireAccountAccess(services, acting.caller, `The member '${username}'`, "admin");
    if (found.role === "owner") requireOwner(acting.caller, "remove owners");
  }
  const entry = memberEntry("member.removed", id, found.user, { before: found.role });
  if (!(await remove(services.db, id, found.user.id, acting.caller.role, entry)))
    throw onlyOwner(organizationName);
  forgetRoles();
}

/** Makes a user an owner of an organization, for its operator. @throws ProblemError not_found, conflict */
export async function appointOwner(
  services: Services,
  organizationName: string,
  username: string,
): Promise<Member> {
  const [organization, user] = await Promise.all([
    getUser(services, organizationName),
    getUser(services, username),
  ]);
  if (organization.kind !== "organization")
    throw notFound(`The organization '${organizationName}'`);
  if (user.kind !== "user") throw conflict(`'${username}' is an organization. Name a person.`);
  const created_at = Date.now();
  const had = await findMember(services.db, organization.id, username);
  const action = had ? "member.updated" : "member.added";
  await appoint(
    services.db,
    { organization_id: organization.id, user_id: user.id, created_at },
    memberEntry(action, organization.id, user, {
      ...(had && { before: had.role }),
      after: "owner",
    }),
  );
  forgetRoles();
  return services.present.member({ user, role: "owner", created_at, lapses_at: null });
}

async function requireMember({ db }: Services, organizationId: string, username: string) {
  const found = await findMember(db, organizationId, username);
  if (found) return found;
  throw notFound(`A member '${username}'`, "Invite people with a link.");
}

function requireOwner(caller: Caller, what: string): void {
  if (hasRole(caller, "owner")) return;
  throw new ProblemError("forbidden", `Only owners of the organization can ${what}.`);
}

const onlyOwner = (name: string) =>
  conflict(
    `'${name}' needs an owner, and there is no other. Make another member an owner first, or delete the organization.`,
  );

/** After a change of roles, this isolate forgets them at once, and others within 10 s. */
function forgetRoles(): void {
  forgetTokens();
  forgetModels();
}

/**
 * Creates an invitation, with which one person can join.
 * @returns the invitation with its secret, which is shown once
 * @throws ProblemError not_found, forbidden, conflict
 */
export async function invite(
  services: Services,
  caller: Caller,
  organizationName: string,
  { role, note }: CreateOrganizationInvitation,
  origin: string,
) {
  const acting = await actFor(services, caller, organizationName, "admin");
  requireUnlimited(caller, "invite people");
  if (role === "owner") requireOwner(acting.caller, "invite owners");
  const invitation = newToken("ausi");
  const now = Date.now();
  const row: InvitationRow = {
    id: uuid(),
    hash: await sha256(invitation),
    organization_id: acting.organization.id,
    role,
    note,
    made_by: acting.caller.maker,
    created_at: now,
    expires_at: now + VALID_MS,
    accepted_by: null,
  };
  const entry = invitationEntry("invitation.created", row);
  if (!(await insertInvitation(services.db, row, MAX_INVITATIONS, entry)))
    throw conflict(
      `An organization can have at most ${MAX_INVITATIONS} open invitations. Delete an unused one.`,
    );
  return {
    ...services.present.organizationInvitation(row),
    invitation,
    url: `${origin}/join/${invitation}`,
  };
}

const invitationEntry = (
  action: "invitation.created" | "invitation.revoked",
  invitation: InvitationRow,
) =>
  auditEntry({
    action,
    account_id: invitation.organization_id,
    targets: [invitationTarget(invitation)],
    ...(action === "invitation.created" && { after: { role: invitation.role } }),
  });

/** Lists open invitations, newest last. @throws ProblemError not_found, forbidden */
export async function listInvitations(
  services: Services,
  caller: Caller,
  organizationName: string,
): Promise<OrganizationInvitation[]> {
  const { organization } = await actFor(services, caller, organizationName, "admin");
  const rows = await invitationsOf(services.db, organization.id, Date.now(), MAX_INVITATIONS);
  return rows.map(services.present.organizationInvitation);
}

/** @throws ProblemError not_found, forbidden */
export async function revokeInvitation(
  services: Services,
  caller: Caller,
  organizationName: string,
  id: string,
): Promise<void> {
  const { organization } = await actFor(services, caller, organizationName, "admin");
  const entryOf = (row: InvitationRow) => invitationEntry("invitation.revoked", row);
  if (!(await deleteInvitation(services.db, organization.id, id, entryOf)))
    throw notFound(`The invitation '${id}'`);
}

/** Finds what an invitation is for. @throws ProblemError not_found for one that is not open */
export async function readInvitation({ db }: Services, invitation: string) {
  const { organization, invitation: row } = await openInvitation(db, invitation);
  return { organization: organization.username, role: row.role };
}

async function openInvitation(db: Services["db"], invitation: string) {
  const open = await findInvitationToJoin(db, invitation);
  if (open) return open;
  throw notFound("This invitation", "It was used, revoked or has expired. Ask for a new one.");
}

/**
 * Adds the caller to the organization of an invitation.
 * @throws ProblemError not_found for an invitation that is not open; forbidden, conflict
 */
export async function join(
  services: Services,
  caller: Caller,
  invitation: string,
): Promise<Organization> {
  await requireAccountAccess(services, caller, "Your organizations", "owner");
  requireUnlimited(caller, "join organizations");
  const { db } = services;
  const user = await findUser(db, caller.user_id);
  if (user?.kind !== "user")
    throw new ProblemError("forbidden", "Only people can join. Use a token of your own account.");
  const open = await openInvitation(db, invitation);
  const { organization } = open;
  const { role } = open.invitation;
  const entry = memberEntry("member.added", organization.id, user, { after: role });
  if (!(await acceptInvitation(db, open.invitation, user.id, Date.now(), entry)))
    throw conflict(
      `You are a member of '${organization.username}' already, or it has ${MAX_MEMBERS} members.`,
    );
  forgetModels();
  // A read that fails here would answer 503 for an invitation that the next try does not find.
  return services.present.organization(organization, role);
}
