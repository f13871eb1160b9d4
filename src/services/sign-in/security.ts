/** How somebody signs in, and where they are signed in. */
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict, notFound } from "../../errors.ts";
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
 * Everybody who is signed in with the old one is signed out, but this session; and no link for a
 * new one is good any more.
 * @returns the cookies of the session that goes on. @throws ValidationFailure
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
    () => invalid(["body", "current"], "this is not your password"),
  );
  await deleteInvitationsFor(services.db, userId);
  return answered.getSetCookie();
}

/** @throws ProblemError not_found; conflict for the only way in */
export async function removePasskey(services: Services, userId: string, id: string): Promise<void> {
  const { providers, passkeys } = await listSignInMethods(services, userId);
  if (providers.length === 0 && passkeys.length === 1)
    throw conflict("It is the only way in. Add another passkey first.");
  if (!(await deletePasskey(services.db, userId, id))) throw notFound("The passkey");
}

/** @throws ProblemError not_found */
export async function endSession({ db }: Services, userId: string, id: string): Promise<void> {
  if (!(await deleteSession(db, userId, id))) throw notFound("The session");
}

/** Everywhere, at once. */
export async function endSessions({ db }: Services, userId: string): Promise<void> {
  await deleteSessions(db, userId);
}

const MAX_RECOVERIES = 20;

/** When operators gave the account a new password, and who did. */
export const listRecentRecoveries = ({ db }: Services, userId: string) =>
  listRecoveries(db, userId, MAX_RECOVERIES);

export type Recovery = Awaited<ReturnType<typeof listRecentRecoveries>>[number];

/** Its user has read of them up to that one. */
export async function markRecoveriesRead({ db }: Services, userId: string, until: number) {
  await clearRecoveryNotice(db, userId, until);
}
