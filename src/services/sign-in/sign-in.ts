/** Begins and ends sessions with better-auth. */

import { invalid } from "../../domain/schemas/validation.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { OIDC } from "../../protocol/oidc.ts";
import { countFailure } from "../audit/sign-in.ts";
import type { Services } from "../services.ts";
import { requireRecentLogin } from "./admission.ts";
import { getAuth, orRefusal } from "./auth-loader.ts";
import { listSignInMethods } from "./security.ts";
import type { Session } from "./sessions.ts";

/**
 * @returns the cookies that begin the session, or with `needsCode` those for `signInWithCode`
 * @throws ProblemError forbidden
 */
export async function signInWithPassword(
  services: Services,
  { origin, headers }: { origin: string; headers: Headers },
  body: { email: string; password: string },
): Promise<{ cookies: string[]; needsCode: boolean }> {
  const { api } = await getAuth(services, origin);
  const { headers: answered, response } = await orRefusal(
    api.signInEmail({ body, headers, returnHeaders: true }),
    () => {
      countFailure(services);
      return new ProblemError("forbidden", "Wrong email or password.");
    },
  );
  return { cookies: answered.getSetCookie(), needsCode: "twoFactorRedirect" in response };
}

/** @returns the provider's authorization URL, and the cookies for the way back */
export async function signInElsewhere(
  services: Services,
  { origin, headers }: { origin: string; headers: Headers },
  provider: "github" | typeof OIDC,
  next: string,
): Promise<{ url: string; cookies: string[] }> {
  const answer = await (await getAuth(services, origin)).api.signInSocial({
    body: {
      provider,
      callbackURL: next,
      newUserCallbackURL: "/welcome",
      errorCallbackURL: "/sign-in",
    },
    headers,
    returnHeaders: true,
  });
  if (!answer.response.url) throw new Error("better-auth returned no authorization URL");
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
  if (services.settings.oidcOnly) return false;
  return (await listSignInMethods(services, userId)).providers.includes("credential");
}

/** @throws ValidationFailure for a wrong password; ProblemError forbidden for an older session */
export async function confirmIdentity(
  services: Services,
  session: Session,
  { origin, headers }: { origin: string; headers: Headers },
  password: string,
): Promise<void> {
  if (await hasPassword(services, session.login.id)) {
    const { api } = await getAuth(services, origin);
    const refusal = () => invalid(["body", "password"], "Wrong password");
    if (password === "") throw refusal();
    await orRefusal(api.verifyPassword({ body: { password }, headers }), refusal);
  } else requireRecentLogin(session);
}
