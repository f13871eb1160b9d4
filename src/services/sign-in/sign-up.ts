/** New accounts: who may have one, and what they are made of. */
import { v7 as uuid } from "uuid";
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict } from "../../errors.ts";
import type { SignUp, Welcome } from "../../protocol/sign-in.ts";
import {
  findLogin,
  type InvitationRow,
  insertLogin,
  insertUserOfLogin,
  replacePassword,
} from "../../storage/accounts/sign-in.ts";
import { findUser, findUserByName } from "../../storage/accounts/users.ts";
import { failedOn } from "../../storage/database.ts";
import type { Services } from "../services.ts";
import { type Admission, isAdmitted, notAdmitted } from "./admission.ts";
import { hashPassword } from "./auth-loader.ts";

/**
 * An account with a password. Whose invitation names a user becomes that user, and the operator may
 * take one that nobody signs in as: they can make tokens for it as well.
 * @throws ProblemError forbidden, conflict; ValidationFailure
 */
export async function signUp(
  services: Services,
  request: SignUp,
  admitted: Admission,
): Promise<void> {
  if (!isAdmitted(services, admitted)) throw notAdmitted(services);
  const { db } = services;
  const there = await userToBe(services, request.username, admitted);
  const id = there?.id ?? uuid();
  const login = { id, name: request.name, email: request.email };
  const passwordHash = await hashPassword(request.password);
  const now = Date.now();
  const user = {
    id,
    username: there?.username ?? request.username,
    name: request.name,
    avatar_url: "",
    operator_proof: admitted.operator_proof,
    created_at: now,
    updated_at: now,
  };
  await explained(
    insertLogin(db, { ...login, passwordHash }, user, admitted.invitation),
    request.username,
  );
}

/** The user of somebody whom GitHub has vouched for. @throws as signUp */
export async function completeGitHubSignUp(
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
  await explained(insertUserOfLogin(services.db, user, admitted.invitation), request.username);
}

/**
 * A new password for the user of an invitation, who has lost the old one.
 * @returns the e-mail address to sign in with. @throws ProblemError conflict
 */
export async function resetPassword(
  { db }: Services,
  invitation: InvitationRow,
  password: string,
): Promise<string> {
  const login = invitation.user_id === null ? undefined : await findLogin(db, invitation.user_id);
  if (!login) throw conflict(NOT_OPEN);
  const passwordHash = await hashPassword(password);
  await explained(replacePassword(db, login.id, passwordHash, invitation), "");
  return login.email;
}

const NOT_OPEN =
  "The invitation is not open any more: it was accepted, withdrawn, or is more than seven days old.";

/** A user without a login that this sign-up is for. */
async function userToBe(
  { db }: Services,
  username: string,
  { invitation, operator_proof }: Admission,
) {
  if (invitation && invitation.user_id !== null) return findUser(db, invitation.user_id);
  const user = operator_proof ? await findUserByName(db, username) : undefined;
  return user && !(await findLogin(db, user.id)) ? user : undefined;
}

async function explained(writing: Promise<void>, username: string): Promise<void> {
  try {
    await writing;
  } catch (error) {
    if (failedOn(error, "NOT NULL", "logins.id", "users.id", "credentials.id"))
      throw conflict(NOT_OPEN);
    if (failedOn(error, "UNIQUE", "logins.email"))
      throw invalid(["body", "email"], "there is an account with it: sign in");
    if (failedOn(error, "UNIQUE", "logins.id")) throw conflict("This user can sign in already.");
    if (failedOn(error, "UNIQUE", "users.username", "usernames.username"))
      throw invalid(["body", "username"], `'${username}' is taken`);
    throw error;
  }
}
