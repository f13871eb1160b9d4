/** That it is the user of an account who asks, and not somebody who has come upon their browser. */
import { invalid } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors.ts";
import type { Services } from "../services.ts";
import { getAuth, orRefusal } from "./auth-loader.ts";
import { listSignInMethods } from "./security.ts";
import { FRESH_SECONDS } from "./session-limits.ts";
import type { Session } from "./sessions.ts";

/** Whether they are asked for a password: who has none shows a sign-in that is fresh. */
export async function hasPassword(services: Services, userId: string): Promise<boolean> {
  return (await listSignInMethods(services, userId)).providers.includes("credential");
}

/** @throws ValidationFailure for another password; ProblemError forbidden for a session that is old */
export async function confirmIdentity(
  services: Services,
  { login, created_at }: Session,
  { origin, headers }: { origin: string; headers: Headers },
  password: string,
): Promise<void> {
  if (await hasPassword(services, login.id)) {
    const { api } = await getAuth(services, origin);
    const refusal = () => invalid(["body", "password"], "this is not your password");
    if (password === "") throw refusal();
    await orRefusal(api.verifyPassword({ body: { password }, headers }), refusal);
  } else if (Date.now() - created_at >= FRESH_SECONDS * 1_000) {
    throw new ProblemError(
      "forbidden",
      `For this you must have signed in within the last ${FRESH_SECONDS / 60} minutes. Sign out and in again, then come back.`,
    );
  }
}
