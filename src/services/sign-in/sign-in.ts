/** Begins and ends sessions with better-auth. */

import { invalid } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { Services } from "../services.ts";
import { FRESH_SECONDS } from "./admission.ts";
import { getAuth, orRefusal } from "./auth-loader.ts";
import { listSignInMethods } from "./security.ts";
import type { Session } from "./sessions.ts";

/** @returns the cookies that begin the session. @throws ProblemError forbidden */
export async function signInWithPassword(
  services: Services,
  { origin, headers }: { origin: string; headers: Headers },
  body: { email: string; password: string },
): Promise<string[]> {
  const { api } = await getAuth(services, origin);
  const { headers: answered } = await orRefusal(
    api.signInEmail({ body, headers, returnHeaders: true }),
    () => new ProblemError("forbidden", "Wrong email or password."),
  );
  return answered.getSetCookie();
}

/** @returns GitHub's authorization URL, and the cookies for the way back */
export async function signInWithGitHub(
  services: Services,
  { origin, headers }: { origin: string; headers: Headers },
  next: string,
): Promise<{ url: string; cookies: string[] }> {
  const answer = await (await getAuth(services, origin)).api.signInSocial({
    body: {
      provider: "github",
      callbackURL: next,
      newUserCallbackURL: "/welcome",
      errorCallbackURL: "/sign-in",
    },
    headers,
    returnHeaders: true,
  });
  if (!answer.response.url) throw new Error("better-auth returned no URL for GitHub");
  return { url: answer.response.url, cookies: answer.headers.getSetCookie() };
}

/** @returns the cookies that end the session */
export async function signOut(
  services: Services,
  { origin, headers }: { origin: string; headers: Headers },
): Promise<string[]> {
  const answer = await (await getAuth(services, origin)).api.signOut({
    headers,
    returnHeaders: true,
  });
  return answer.headers.getSetCookie();
}

/** Whether to ask for a password. Users without one need a recent login instead. */
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
      `This requires a login within the last ${FRESH_SECONDS / 60} minutes. Log out, log in again, and retry.`,
    );
  }
}
