/** Flash messages: the result of a form, shown once on the next page. */
import { deleteCookie, getCookie } from "hono/cookie";
import { createMiddleware } from "hono/factory";
import type { Dashboard, PageContext } from "./context.ts";
import { setTemporaryCookie } from "./cookies.ts";

const COOKIE = "auspex.done";
const MAX_AGE_SECONDS = 30;

export function redirectWithFlash(c: PageContext, message: string, address: string): Response {
  setTemporaryCookie(c, COOKIE, message, MAX_AGE_SECONDS);
  return c.redirect(address, 303);
}

/** Only full pages read the message: fragments must not use it up. */
export const loadFlash = createMiddleware<Dashboard>(async (c, next) => {
  const page = c.req.method === "GET" && c.req.header("accept")?.includes("text/html");
  const message = page ? getCookie(c, COOKIE) : undefined;
  c.set("flash", message);
  if (message !== undefined) deleteCookie(c, COOKIE, { path: "/" });
  await next();
});
