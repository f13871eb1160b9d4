/** Limits sign-ups per network and per invitation in a day. */
import { sha256 } from "../../domain/accounts/token.ts";
import { ProblemError } from "../../errors/errors.ts";
import {
  countSignUpAttempt,
  deleteExpired,
  deleteSignUpAttemptsBefore,
} from "../../storage/accounts/sign-in.ts";
import type { Services } from "../services.ts";

/**
 * Attempts per network or invitation: enough for an office, too few to find out which email addresses have an
 * account.
 */
const MAX_PER_DAY = 20;

const dayOf = (now: number) => new Date(now).toISOString().slice(0, 10);

/**
 * Counts an attempt, before any look-up and before a password is hashed.
 * @param source a network or an invitation: stored as a hash with SECRET_KEY
 * @throws ProblemError too_many_requests
 */
export async function limitSignUpAttempts(
  { db, settings }: Services,
  source: string,
): Promise<void> {
  const day = dayOf(Date.now());
  const attempts = await countSignUpAttempt(
    db,
    day,
    await sha256(`${settings.secretKeys[0]} sign-up ${source}`),
  );
  if (attempts <= MAX_PER_DAY) return;
  throw new ProblemError(
    "too_many_requests",
    `Too many sign-up attempts from your network today (${MAX_PER_DAY} are allowed). Try again tomorrow, or ask an operator to create the account.`,
    { "retry-after": "86400" },
  );
}

const sweepSignUpAttempts = ({ db }: Services, now: number) =>
  deleteSignUpAttemptsBefore(db, dayOf(now));

export async function sweepSessions(services: Services, now: number): Promise<void> {
  await deleteExpired(services.db, new Date(now));
  await sweepSignUpAttempts(services, now);
}
