/** Cookies that a page gives along: its own for a short while, and those of better-auth as they are. */
import { setCookie } from "hono/cookie";
import type { PageContext } from "./context.ts";

/** For the browser alone, and of this deployment alone. */
export const setTemporaryCookie = (
  c: PageContext,
  name: string,
  value: string,
  seconds: number,
): void =>
  setCookie(c, name, value, {
    httpOnly: true,
    secure: c.var.origin.startsWith("https:"),
    sameSite: "Lax",
    path: "/",
    maxAge: seconds,
  });

/** @param cookies as `Set-Cookie` has them */
export function addCookies(c: PageContext, cookies: readonly string[]): void {
  for (const cookie of cookies) c.header("set-cookie", cookie, { append: true });
}
