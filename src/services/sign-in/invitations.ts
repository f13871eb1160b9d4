/** Invitations: an operator creates one, and anybody with its link can create one account with it. */
import { v7 as uuid } from "uuid";
import { isToken, newToken, sha256 } from "../../domain/accounts/token.ts";
import { conflict } from "../../errors/errors.ts";
import type { CreateInvitation } from "../../protocol/sign-in.ts";
import {
  deleteInvitation,
  findInvitation,
  type InvitationRow,
  insertInvitation,
  listInvitations,
} from "../../storage/accounts/invitations.ts";
import { findInvitation as findOpen } from "../../storage/accounts/organizations.ts";
import { findLogin } from "../../storage/accounts/sign-in.ts";
import { findUser, type UserRow } from "../../storage/accounts/users.ts";
import { getUser } from "../access/accounts.ts";
import { invitationTarget, userTarget } from "../audit/people.ts";
import { auditEntry } from "../audit/record.ts";
import type { Services } from "../services.ts";

const VALID_MS = 7 * 86_400_000;
/** The invitations that are listed: enough for one page, since they expire. */
const MAX_LISTED = 200;

/**
 * Creates an invitation. With a username, it is for that user: one who was created through the API and cannot
 * log in yet, or one who forgot their password.
 * @returns the token of its link, which is shown once
 * @throws ProblemError not_found, conflict
 */
export async function invite(
  services: Services,
  operatorId: string,
  request: CreateInvitation,
): Promise<string> {
  const user =
    request.username === undefined ? undefined : await getUser(services, request.username);
  if (user && services.settings.oidcOnly) {
    throw conflict(
      "This deployment has no passwords, so an invitation for an existing user has no use. They log in with the login provider, or get a new account there.",
    );
  }
  const token = newToken("ausi");
  const now = Date.now();
  const row: InvitationRow = {
    id: uuid(),
    hash: await sha256(token),
    note: request.note,
    user_id: user?.id ?? null,
    recovers: user !== undefined && (await findLogin(services.db, user.id)) !== undefined,
    made_by: operatorId,
    created_at: now,
    expires_at: now + VALID_MS,
    accepted_at: null,
  };
  const targets = [invitationTarget(row)];
  if (user) targets.push(userTarget(user));
  const entry = auditEntry({
    action: "invitation.created",
    account_id: row.user_id,
    targets,
    ...(user && { after: { recovers: row.recovers } }),
  });
  await insertInvitation(services.db, row, entry);
  return token;
}

/**
 * @returns undefined for an invitation that is unknown, used or expired, or whose creator is no operator any
 * more
 */
export async function findOpenInvitation(
  { db }: Services,
  token: string | undefined,
): Promise<InvitationRow | undefined> {
  if (token === undefined || !isToken(token, "ausi")) return undefined;
  return findInvitation(db, await sha256(token), Date.now());
}

/** Finds an invitation to an organization by its secret. Undefined: it is not open. */
export const findInvitationToJoin = async (db: Services["db"], token: string) =>
  isToken(token, "ausi") ? findOpen(db, await sha256(token), Date.now()) : undefined;

/** Returns the user that the invitation is for: they get a login, or a new password. */
export async function invitedUser(
  { db }: Services,
  { user_id }: InvitationRow,
): Promise<UserRow | undefined> {
  return user_id === null ? undefined : findUser(db, user_id);
}

export const listOpenInvitations = ({ db }: Services) =>
  listInvitations(db, Date.now(), MAX_LISTED);

/** @throws ProblemError conflict when it is no longer open */
export async function withdrawInvitation({ db }: Services, id: string): Promise<void> {
  const entryOf = (row: InvitationRow) =>
    auditEntry({
      action: "invitation.revoked",
      account_id: row.user_id,
      targets: [invitationTarget(row)],
    });
  if (!(await deleteInvitation(db, id, entryOf)))
    throw conflict("The invitation was already accepted or withdrawn.");
}
