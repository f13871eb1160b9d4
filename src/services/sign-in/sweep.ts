/** Deletes expired sessions, invitations and attempt counts. */
import { deleteExpired } from "../../storage/accounts/sign-in.ts";
import type { Services } from "../services.ts";
import { sweepSignUpAttempts } from "./sign-up-attempts.ts";

export async function sweepSessions(services: Services, now: number): Promise<void> {
  await deleteExpired(services.db, new Date(now));
  await sweepSignUpAttempts(services, now);
}
