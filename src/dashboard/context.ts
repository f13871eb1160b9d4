import { type Context, Hono } from "hono";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import type { Manifest } from "../protocol/assets.ts";
import type { Caller } from "../services/access/access.ts";
import type { Membership, Session } from "../services/sign-in/sessions.ts";
import type { UserRow } from "../storage/accounts/users.ts";

export interface Viewer {
  user: UserRow;
  /** The account that the page belongs to: the user's own, or the organization in its address. */
  account: UserRow;
  organizations: Membership[];
  operator: boolean;
  email: string;
  session_id: string;
  session: Session;
  /** Acts for the account of the page. */
  caller: Caller;
}

export const isPersonal = ({ user, account }: Pick<Viewer, "user" | "account">): boolean =>
  user.id === account.id;

export interface Dashboard {
  Bindings: AppEnv["Bindings"];
  Variables: AppEnv["Variables"] & {
    origin: string;
    assets: Manifest;
    session: Session | undefined;
    viewer: Viewer | undefined;
    /** The session's CSRF token for forms; empty without a session. */
    formToken: string;
    /** A message from the previous form, shown once. */
    flash: string | undefined;
  };
}

export type PageContext = Context<Dashboard>;

/** Returns the parts of a request that services need to read and set session cookies. */
export const requestSource = (c: PageContext) => ({
  origin: c.var.origin,
  headers: c.req.raw.headers,
});

export const pages = () => new Hono<Dashboard>();

interface PageProps {
  /** Title of the page, without the product name, which is appended. */
  title: string;
  /** Scripts of src/dashboard/client to load in addition to `page`, without `.ts`. */
  scripts?: string[];
}

declare module "hono" {
  interface ContextRenderer {
    // biome-ignore lint/style/useShorthandFunctionType: Hono merges interfaces only
    (content: unknown, props: PageProps): Response | Promise<Response>;
  }
}

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
