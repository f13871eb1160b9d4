/** Creating accounts, and setting new passwords with an invitation. */
import { v7 as uuid } from "uuid";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict } from "../../errors/errors.ts";
import type { SignUp, Welcome } from "../../protocol/sign-in.ts";
import type { InvitationRow } from "../../storage/accounts/invitations.ts";
import {
  findLogin,
  insertLogin,
  insertUserOfLogin,
  replacePassword,
} from "../../storage/accounts/sign-in.ts";
import { findUser, findUserByName, type UserRow } from "../../storage/accounts/users.ts";
import { failedOn } from "../../storage/database.ts";
import { invitationTarget, memberEntry, userTarget } from "../audit/people.ts";
import { auditEntry, OPERATOR_TOKEN_SENDER } from "../audit/record.ts";
import type { Services } from "../services.ts";
import { type Admission, isAdmitted, notAdmitted } from "./admission.ts";
import { hashPassword } from "./auth-loader.ts";

/**
 * Creates an account with a password. An invitation for a user creates the login of that user. The
 * operator can take over any user without a login, since they can create tokens for it anyway.
 * @throws ProblemError forbidden, conflict; ValidationFailure
 */
export async function signUp(
  services: Services,
  request: SignUp,
  admitted: Admission,
): Promise<void> {
  if (!isAdmitted(services, admitted)) throw notAdmitted(services);
  const { db } = services;
  const existing = await existingUser(services, request.username, admitted);
  const id = existing?.id ?? uuid();
  const login = { id, name: request.name, email: request.email };
  const passwordHash = await hashPassword(request.password);
  const now = Date.now();
  const user = {
    id,
    username: existing?.username ?? request.username,
    name: request.name,
    avatar_url: "",
    operator_since: admitted.operator ? now : null,
    created_at: now,
    updated_at: now,
  };
  await explainConflict(
    insertLogin(
      db,
      { ...login, passwordHash },
      user,
      admitted,
      signUpEntries(user, admitted, existing),
    ),
    request.username,
  );
}

/** Creates the user of a new login with GitHub or OpenID Connect. @throws as signUp */
export async function completeSignUp(
  services: Services,
  loginId: string,
  request: Welcome,
  admitted: Admission,
): Promise<void> {
  if (!isAdmitted(services, admitted)) throw notAdmitted(services);
  const now = Date.now();
  const user = {
    id: loginId,
    username: request.username,
    name: request.name,
    avatar_url: "",
    created_at: now,
    updated_at: now,
  };
  const entries = signUpEntries(user, admitted, undefined);
  await explainConflict(insertUserOfLogin(services.db, user, admitted, entries), request.username);
}

/** @param existing the user who had no login yet */
function signUpEntries(
  { id, username, name }: Pick<UserRow, "id" | "username" | "name">,
  { invitation, joining, operator }: Admission,
  existing: UserRow | undefined,
): EntryRow[] {
  const sender = { type: "user", id, name: username } as const;
  const target = userTarget({ id, username });
  const entries = [
    auditEntry({
      action: existing ? "password.updated" : "user.created",
      account_id: id,
      targets: [target, ...(invitation ? [invitationTarget(invitation)] : [])],
      ...(!existing && { after: { username, name } }),
      sender,
    }),
  ];
  if (joining) {
    const { organization_id, role } = joining.invitation;
    entries.push(
      memberEntry("member.added", organization_id, { id, username }, { after: role }, sender),
    );
  }
  if (operator && existing?.operator_since == null)
    entries.push(
      auditEntry({
        action: "operator.appointed",
        account_id: null,
        targets: [target],
        sender: OPERATOR_TOKEN_SENDER,
      }),
    );
  return entries;
}

/**
 * Sets a new password for the user of an invitation.
 * @returns the email address to log in with. @throws ProblemError conflict
 */
export async function resetPassword(
  { db }: Services,
  invitation: InvitationRow,
  password: string,
): Promise<string> {
  const login = invitation.user_id === null ? undefined : await findLogin(db, invitation.user_id);
  if (!login) throw conflict(NOT_OPEN);
  const passwordHash = await hashPassword(password);
  const username = (await findUser(db, login.id))?.username ?? "";
  const entry = auditEntry({
    action: "user.recovered",
    account_id: login.id,
    targets: [userTarget({ id: login.id, username }), invitationTarget(invitation)],
    sender: { type: "user", id: login.id, name: username },
  });
  await explainConflict(
    replacePassword(db, login.id, passwordHash, { invitation, joining: undefined }, entry),
    "",
  );
  return login.email;
}

const NOT_OPEN =
  "This invitation is no longer valid: it was used, withdrawn or is more than 7 days old.";

/** The existing user without a login that this sign-up is for. */
async function existingUser(
  { db }: Services,
  username: string,
  { invitation, operator }: Admission,
) {
  if (invitation && invitation.user_id !== null) return findUser(db, invitation.user_id);
  const user = operator ? await findUserByName(db, username) : undefined;
  return user && !(await findLogin(db, user.id)) ? user : undefined;
}

async function explainConflict(writing: Promise<void>, username: string): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (failedOn(error, "NOT NULL", "logins.id", "users.id", "credentials.id"))
      throw conflict(NOT_OPEN);
    if (failedOn(error, "UNIQUE", "logins.email"))
      throw invalid(["body", "email"], "An account with this email address exists. Log in instead");
    if (failedOn(error, "UNIQUE", "logins.id")) throw conflict("This user already has a login.");
    if (failedOn(error, "UNIQUE", "users.username", "usernames.username"))
      throw invalid(["body", "username"], `'${username}' is taken`);
    throw error;
  }
}
