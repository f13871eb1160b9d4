/** What a form has done, said once by the page that comes after it. */
import { deleteCookie, getCookie } from "hono/cookie";
import { createMiddleware } from "hono/factory";
import type { Dashboard, PageContext } from "./context.ts";
import { setTemporaryCookie } from "./cookies.ts";

const COOKIE = "auspex.done";
const MAX_AGE_SECONDS = 30;

/** Goes on to a page, which will say so. */
export function redirectWithFlash(c: PageContext, message: string, address: string): Response {
  setTemporaryCookie(c, COOKIE, message, MAX_AGE_SECONDS);
  return c.redirect(address, 303);
}

/** For all pages that are looked at, not for parts of them. */
export const loadFlash = createMiddleware<Dashboard>(async (c, next) => {
  const page = c.req.method === "GET" && c.req.header("accept")?.includes("text/html");
  const message = page ? getCookie(c, COOKIE) : undefined;
  c.set("flash", message);
  if (message !== undefined) deleteCookie(c, COOKIE, { path: "/" });
  await next();
});
