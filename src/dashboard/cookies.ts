/** Cookies of pages: our own short-lived ones, and those of better-auth verbatim. */
import { setCookie } from "hono/cookie";
import type { PageContext } from "./context.ts";

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

/** @param cookies values of `Set-Cookie` */
export function addCookies(c: PageContext, cookies: readonly string[]): void {
  for (const cookie of cookies) c.header("set-cookie", cookie, { append: true });
}
