/**
 * Renews session cookies that were signed with an older SECRET_KEY. better-auth accepts only the
 * newest key and would sign everyone out, so the cookie is signed again, for the request and for the
 * browser.
 */
import { parse, parseSigned, serializeSigned } from "hono/utils/cookie";
import { SESSION_SECONDS } from "./session-limits.ts";

/** better-auth's cookie, with and without https. */
const NAME = /^(?:__Host-)?auspex\.session_token$/;

interface Renewed {
  /** The request's headers with the new cookie. */
  headers: Headers;
  /** The new cookie for the browser. */
  cookie: string;
}

/** @param secrets newest first @returns undefined when no renewal is needed */
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
