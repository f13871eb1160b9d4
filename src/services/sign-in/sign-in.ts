/** Begins and ends sessions with better-auth. */
import { ProblemError } from "../../errors/errors.ts";
import type { Services } from "../services.ts";
import { getAuth, orRefusal } from "./auth-loader.ts";

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
