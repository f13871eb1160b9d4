/** Sessions of the dashboard: whose a request is, by its cookie. */

import { findLiveSession } from "../../storage/accounts/sign-in.ts";
import type { UserRow } from "../../storage/accounts/users.ts";
import { findUser } from "../../storage/accounts/users.ts";
import { cached } from "../../storage/cache.ts";
import type { Services } from "../services.ts";
import { getAuth } from "./auth-loader.ts";

export interface Session {
  id: string;
  /** When they signed in, unix ms. */
  created_at: number;
  login: { id: string; email: string; name: string };
  /** Absent: signed in, but with no user yet (somebody new whom GitHub has vouched for). */
  user: UserRow | undefined;
  /** What the browser is to be told: a session that is used lives on. */
  cookies: string[];
}

/** @returns undefined without a session that is valid */
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

const live = cached({ max: 10_000 }, ({ db }: Services, id: string) => findLiveSession(db, id));

/** Whether a session goes on. @param within how long ago it may have been looked up, ms */
export async function isSessionLive(
  services: Services,
  id: string,
  within: number,
): Promise<boolean> {
  const found = await live.get(services, id, within);
  return found !== undefined && found.expires_at.getTime() > Date.now();
}
