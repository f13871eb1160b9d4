/** A user's login methods and sessions. */
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import {
  clearRecoveryNotice,
  deleteInvitationsFor,
  deletePasskey,
  deleteSession,
  deleteSessions,
  findSignInMethods,
  listRecoveries,
} from "../../storage/accounts/sign-in.ts";
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
  if (!(await deletePasskey(services.db, userId, id))) throw notFound("The passkey");
}

/** @throws ProblemError not_found */
export async function endSession({ db }: Services, userId: string, id: string): Promise<void> {
  if (!(await deleteSession(db, userId, id))) throw notFound("The session");
}

export async function endSessions({ db }: Services, userId: string): Promise<void> {
  await deleteSessions(db, userId);
}

const MAX_RECOVERIES = 20;

/** Lists when an operator's invitation reset the password, and which operator's. */
export const listRecentRecoveries = ({ db }: Services, userId: string) =>
  listRecoveries(db, userId, MAX_RECOVERIES);

export type Recovery = Awaited<ReturnType<typeof listRecentRecoveries>>[number];

export async function markRecoveriesRead({ db }: Services, userId: string, until: number) {
  await clearRecoveryNotice(db, userId, until);
}
