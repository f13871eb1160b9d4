/** How many accounts one network, or one invitation, has tried to make in a day. */
import { sha256 } from "../../domain/accounts/token.ts";
import { ProblemError } from "../../errors.ts";
import {
  countSignUpAttempt,
  deleteSignUpAttemptsBefore,
} from "../../storage/accounts/sign-up-attempts.ts";
import type { Services } from "../services.ts";

/** An office signs up in a day; whoever asks for each address of a list would need weeks for a page of it. */
const A_DAY = 20;

const dayOf = (now: number) => new Date(now).toISOString().slice(0, 10);

/**
 * Counts one, before it is looked up and before a password is hashed.
 * @param by a network, or an invitation: kept as a hash that nobody without SECRET_KEY can guess
 * @throws ProblemError too_many_requests
 */
export async function limitSignUpAttempts({ db, settings }: Services, by: string): Promise<void> {
  const day = dayOf(Date.now());
  const tried = await countSignUpAttempt(
    db,
    day,
    await sha256(`${settings.secretKeys[0]} sign-up ${by}`),
  );
  if (tried <= A_DAY) return;
  throw new ProblemError(
    "too_many_requests",
    `${A_DAY} accounts were tried from here today. Go on tomorrow, or ask an operator to make the account.`,
    { "retry-after": "86400" },
  );
}

/** Those of yesterday count for nothing. */
export const sweepSignUpAttempts = ({ db }: Services, now: number) =>
  deleteSignUpAttemptsBefore(db, dayOf(now));
