/** Sessions of the dashboard, identified by cookie. */
import type { UserRow } from "../../storage/accounts/users.ts";
import { findUser } from "../../storage/accounts/users.ts";
import type { Services } from "../services.ts";
import { getAuth } from "./auth-loader.ts";

export interface Session {
  id: string;
  /** When the user signed in, Unix ms. */
  created_at: number;
  login: { id: string; email: string; name: string };
  /** The user; undefined after a first sign-in with GitHub, until the sign-up is complete. */
  user: UserRow | undefined;
  /** Cookies to set: using a session extends it. */
  cookies: string[];
}

/** @returns undefined without a valid session */
export async function findSession(
  services: Services,
  origin: string,
  headers: Headers,
): Promise<Session | undefined> {
  if (services.settings.secretKeys.length === 0 || !headers.has("cookie")) return undefined;
  const auth = await getAuth(services, origin);
  const { response, headers: answered } = await auth.api.getSession({
    headers,
    returnHeaders: true,
  });
  if (!response) return undefined;
  const { session, user: login } = response;
  return {
    id: session.id,
    created_at: session.createdAt.getTime(),
    login: { id: login.id, email: login.email, name: login.name },
    user: await findUser(services.db, login.id),
    cookies: answered.getSetCookie(),
  };
}
