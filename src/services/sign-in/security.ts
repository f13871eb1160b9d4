/** A user's login methods and sessions. */
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import {
  clearRecoveryNotice,
  deleteInvitationsFor,
  listRecoveries,
} from "../../storage/accounts/invitations.ts";
import {
  deletePasskey,
  deleteSession,
  deleteSessions,
  findSignInMethods,
} from "../../storage/accounts/sign-in.ts";
import { recordNextWrite } from "../../storage/audit/recorded-writes.ts";
import { credentials } from "../../storage/schema/sign-in.ts";
import { loginEntry } from "../audit/sign-in.ts";
import type { Services } from "../services.ts";
import { getAuth, orRefusal } from "./auth-loader.ts";

export type SignInMethods = Awaited<ReturnType<typeof findSignInMethods>>;

export const listSignInMethods = ({ db }: Services, userId: string): Promise<SignInMethods> =>
  findSignInMethods(db, userId);

/**
 * Changes the password, ends all other sessions, and invalidates invitations for a new password.
 * @returns the cookies of the session that stays.
 * @throws ValidationFailure
 */
export async function changePassword(
  services: Services,
  userId: string,
  { origin, headers }: { origin: string; headers: Headers },
  request: { current: string; password: string },
): Promise<string[]> {
  const { api } = await getAuth(services, origin);
  const body = {
    currentPassword: request.current,
    newPassword: request.password,
    revokeOtherSessions: true,
  };
  const entry = await loginEntry(services, "password.updated", userId);
  recordNextWrite("update", credentials, entry);
  const { headers: answered } = await orRefusal(
    api.changePassword({ body, headers, returnHeaders: true }),
    () => invalid(["body", "current"], "Wrong password"),
  );
  await deleteInvitationsFor(services.db, userId);
  return answered.getSetCookie();
}

/** @throws ProblemError not_found; conflict for the only login method */
export async function removePasskey(services: Services, userId: string, id: string): Promise<void> {
  const { providers, passkeys } = await listSignInMethods(services, userId);
  if (providers.length === 0 && passkeys.length === 1)
    throw conflict("This passkey is your only login method. Add another passkey first.");
  const found = passkeys.find((one) => one.id === id);
  if (!found) throw notFound("The passkey");
  const target = { type: "passkey", id: found.credential_id, name: found.name ?? "" };
  const entry = await loginEntry(services, "passkey.deleted", userId, { target });
  if (!(await deletePasskey(services.db, userId, id, entry))) throw notFound("The passkey");
}

/** @throws ProblemError not_found */
export async function endSession(services: Services, userId: string, id: string): Promise<void> {
  const target = { type: "session", id, name: "" };
  const entry = await loginEntry(services, "session.revoked", userId, { target });
  if (!(await deleteSession(services.db, userId, id, entry))) throw notFound("The session");
}

export async function endSessions(services: Services, userId: string): Promise<void> {
  const target = { type: "session", id: "", name: "all" };
  const entry = await loginEntry(services, "session.revoked", userId, { target });
  await deleteSessions(services.db, userId, entry);
}

const MAX_RECOVERIES = 20;

/** Lists when an operator's invitation reset the password, and which operator's. */
export const listRecentRecoveries = ({ db }: Services, userId: string) =>
  listRecoveries(db, userId, MAX_RECOVERIES);

export type Recovery = Awaited<ReturnType<typeof listRecentRecoveries>>[number];

export async function markRecoveriesRead({ db }: Services, userId: string, until: number) {
  await clearRecoveryNotice(db, userId, until);
}
