/** Sessions of the dashboard, identified by cookie. */

import { parse, parseSigned, serializeSigned } from "hono/utils/cookie";
import type { Role } from "../../protocol/organization.ts";
import { listOrganizations } from "../../storage/accounts/organizations.ts";
import { provesSecondFactor } from "../../storage/accounts/second-factors.ts";
import { findUser, type UserRow } from "../../storage/accounts/users.ts";
import type { Services } from "../services.ts";
import { SESSION_SECONDS } from "./admission.ts";
import { getAuth } from "./auth-loader.ts";

/** better-auth's cookie, with and without https. */
const NAME = /^(?:__Host-)?auspex\.session_token$/;

/** An organization of a person, with their role in it. */
export interface Membership {
  organization: UserRow;
  role: Role;
}

/** The organizations that pages list. */
const LISTED_ORGANIZATIONS = 100;

export interface Session {
  id: string;
  /** When the user logged in, Unix ms. */
  created_at: number;
  login: { id: string; email: string; emailVerified: boolean; name: string };
  /** The user; undefined after a first login with GitHub or OpenID Connect, until the sign-up is complete. */
  user: UserRow | undefined;
  organizations: Membership[];
  /** Cookies to set: using a session extends it. */
  cookies: string[];
  /** Whether the session began with a second factor. */
  proves_factor: boolean;
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
  const [user, organizations] = await Promise.all([
    findUser(services.db, login.id),
    listOrganizations(services.db, login.id, LISTED_ORGANIZATIONS),
  ]);
  return {
    id: session.id,
    created_at: session.createdAt.getTime(),
    login: {
      id: login.id,
      email: login.email,
      emailVerified: login.emailVerified,
      name: login.name,
    },
    user,
    organizations,
    cookies: answered.getSetCookie(),
    proves_factor: provesSecondFactor(session.begunWith ?? null),
  };
}

interface Renewed {
  headers: Headers;
  cookie: string;
}

/**
 * Renews a session cookie that was signed with an older SECRET_KEY: better-auth accepts only the newest key,
 * and would sign everyone out.
 * @param secrets newest first
 * @returns undefined when no renewal is needed
 */
export async function renewSessionCookie(
  secrets: readonly string[],
  headers: Headers,
): Promise<Renewed | undefined> {
  const [newest, ...older] = secrets;
  const cookies = headers.get("cookie");
  if (newest === undefined || older.length === 0 || !cookies) return undefined;
  const name = Object.keys(parse(cookies)).find((one) => NAME.test(one));
  if (name === undefined || (await signedWith(newest, cookies, name)) !== undefined)
    return undefined;
  for (const secret of older) {
    const token = await signedWith(secret, cookies, name);
    if (token === undefined) continue;
    const cookie = await serializeSigned(name, token, newest, {
      httpOnly: true,
      secure: name.startsWith("__Host-"),
      sameSite: "Lax",
      path: "/",
      maxAge: SESSION_SECONDS,
    });
    const [pair = ""] = cookie.split(";");
    const others = cookies.split(/; */).filter((one) => !one.startsWith(`${name}=`));
    const renewed = new Headers(headers);
    renewed.set("cookie", [...others, pair].join("; "));
    return { headers: renewed, cookie };
  }
  return undefined;
}

/** The cookie's value, if this key signed it. */
async function signedWith(
  secret: string,
  cookies: string,
  name: string,
): Promise<string | undefined> {
  const { [name]: value } = await parseSigned(cookies, secret, name);
  return typeof value === "string" ? value : undefined;
}
