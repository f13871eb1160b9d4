/** Invitations: an operator makes one, whoever has its link makes an account with it, once. */
import { v7 as uuid } from "uuid";
import { isToken, newToken, sha256 } from "../../domain/accounts/token.ts";
import { conflict } from "../../errors.ts";
import type { CreateInvitation } from "../../protocol/sign-in.ts";
import {
  deleteInvitation,
  findInvitation,
  findLogin,
  type InvitationRow,
  insertInvitation,
  listInvitations,
} from "../../storage/accounts/sign-in.ts";
import { findUser, type UserRow } from "../../storage/accounts/users.ts";
import { getUser } from "../accounts/users.ts";
import type { Services } from "../services.ts";

const VALID_MS = 7 * 86_400_000;
/** More than anybody wants to read; they end by themselves. */
const MAX_LISTED = 200;

/**
 * With a username it is for the user who has that: one that was made over the API and cannot sign
 * in yet, or one who has lost the password. @returns what its link has, which is shown once.
 * @throws ProblemError not_found
 */
export async function invite(
  services: Services,
  operatorId: string,
  request: CreateInvitation,
): Promise<string> {
  const user =
    request.username === undefined ? undefined : await getUser(services, request.username);
  const token = newToken("ausi");
  const now = Date.now();
  await insertInvitation(services.db, {
    id: uuid(),
    hash: await sha256(token),
    note: request.note,
    user_id: user?.id ?? null,
    recovers: user !== undefined && (await findLogin(services.db, user.id)) !== undefined,
    made_by: operatorId,
    created_at: now,
    expires_at: now + VALID_MS,
  });
  return token;
}

/** One that may still be accepted. */
export async function findOpenInvitation(
  { db }: Services,
  token: string | undefined,
): Promise<InvitationRow | undefined> {
  if (token === undefined || !isToken(token, "ausi")) return undefined;
  return findInvitation(db, await sha256(token), Date.now());
}

/** The user that whoever accepts it becomes, or gets a new password as. */
export async function invitedUser(
  { db }: Services,
  { user_id }: InvitationRow,
): Promise<UserRow | undefined> {
  return user_id === null ? undefined : findUser(db, user_id);
}

export const listOpenInvitations = ({ db }: Services) =>
  listInvitations(db, Date.now(), MAX_LISTED);

/** @throws ProblemError conflict when there is none any more */
export async function withdrawInvitation({ db }: Services, id: string): Promise<void> {
  if (!(await deleteInvitation(db, id))) throw conflict("It was accepted, or withdrawn, before.");
}
