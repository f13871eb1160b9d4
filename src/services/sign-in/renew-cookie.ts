/**
 * Session cookies that were signed with an older SECRET_KEY. better-auth takes those of the newest
 * alone, and would sign everybody out; here the same session is signed anew, for the request and for
 * the browser.
 */
import { parse, parseSigned, serializeSigned } from "hono/utils/cookie";
import { SESSION_SECONDS } from "./session-limits.ts";

/** As better-auth calls it, with https and without. */
const NAME = /^(?:__Secure-)?auspex\.session_token$/;

interface Renewed {
  /** Those of the request, with the cookie in them. */
  headers: Headers;
  /** For the browser, if there is such a session. */
  cookie: string;
}

/** @param secrets newest first @returns undefined when there is nothing to be done */
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
      secure: name.startsWith("__Secure-"),
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

/** What stands in a cookie, if this is the key that has signed it. */
async function signedWith(
  secret: string,
  cookies: string,
  name: string,
): Promise<string | undefined> {
  const { [name]: value } = await parseSigned(cookies, secret, name);
  return typeof value === "string" ? value : undefined;
}
