/** Confirms that the user is present, before sensitive actions: by password, or by a recent sign-in. */
import { invalid } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { Services } from "../services.ts";
import { getAuth, orRefusal } from "./auth-loader.ts";
import { listSignInMethods } from "./security.ts";
import { FRESH_SECONDS } from "./session-limits.ts";
import type { Session } from "./sessions.ts";

/** Whether to ask for a password. Users without one need a recent sign-in instead. */
export async function hasPassword(services: Services, userId: string): Promise<boolean> {
  return (await listSignInMethods(services, userId)).providers.includes("credential");
}

/** @throws ValidationFailure for a wrong password; ProblemError forbidden for an older session */
export async function confirmIdentity(
  services: Services,
  { login, created_at }: Session,
  { origin, headers }: { origin: string; headers: Headers },
  password: string,
): Promise<void> {
  if (await hasPassword(services, login.id)) {
    const { api } = await getAuth(services, origin);
    const refusal = () => invalid(["body", "password"], "Wrong password");
    if (password === "") throw refusal();
    await orRefusal(api.verifyPassword({ body: { password }, headers }), refusal);
  } else if (Date.now() - created_at >= FRESH_SECONDS * 1_000) {
    throw new ProblemError(
      "forbidden",
      `This requires a sign-in within the last ${FRESH_SECONDS / 60} minutes. Sign out, sign in again, and retry.`,
    );
  }
}
