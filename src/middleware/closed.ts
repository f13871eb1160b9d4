/**
 * A closed deployment (ANONYMOUS = "none"): without a token or a session, only the routes listed here answer. A
 * new route is closed until it is listed.
 */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "../context.ts";
import { isRegistryRequest } from "../errors/registry.ts";
import { isSuspended } from "../services/access/access.ts";
import type { Services } from "../services/services.ts";
import { findSession } from "../services/sign-in/sessions.ts";
import { identifySender } from "./authentication.ts";
import { limitAddress, limitRate } from "./rate-limit.ts";
import { requireLogin } from "./registry.ts";

/** Routes of API and dashboard, as their routers name them. Packages and assets never reach the Worker. */
export const OPEN_ROUTES: ReadonlySet<string> = new Set([
  "GET /sign-in",
  "POST /sign-in",
  "GET /sign-in/code",
  "POST /sign-in/code",
  "POST /sign-in/github",
  "POST /sign-in/oidc",
  "GET /sign-up",
  "POST /sign-up",
  "POST /sign-up/invitation",
  "GET /welcome",
  "POST /welcome",
  "GET /set-up",
  "POST /set-up",
  "POST /set-up/sign-in",
  "POST /sign-out",
  // `isExposed` limits these to a few of better-auth.
  "ALL /auth/*",
  // `auspex login`, whose codes are approved with a session.
  "POST /oauth/device_authorization",
  "POST /oauth/token",
  "GET /join/:invitation",
  "GET /shared/:token",
  "GET /shared/:token/files/:source/:name",
  // Files, parts and streams require a signature, or a token.
  "GET /v1/files/:source_id/:file_name",
  "PUT /v1/uploads/:upload_id/parts/:part_number",
  "GET /replicate/v1/streams/:prediction_id",
  "GET /v1/predictions/:prediction_id/stream",
  "GET /health",
  // The status is for operators, unless STATUS is "public". Its public page is answered before sessions are read.
  "GET /v1/status",
  // Assets that pages of an earlier deployment ask for.
  "GET /assets/:file",
]);

export const isClosed = ({ settings }: Services): boolean => settings.anonymous === "none";

/** Whether the route of the request answers without a token or a session. */
export const isOpenRoute = <E extends { Variables: { services: Services } }>(
  c: Context<E>,
): boolean =>
  !isClosed(c.var.services) ||
  matchedRoutes(c).some(({ method, path }) => OPEN_ROUTES.has(`${method} ${path}`));

/** Returns the address of the login that leads back to a page. */
export function signInAddress(url: string): string {
  const { pathname, search } = new URL(url);
  return `/sign-in?next=${encodeURIComponent(pathname + search)}`;
}

/**
 * Requires a token, or a session of the dashboard, whose pages show avatars, pictures and the documentation.
 * What the sender may do is for the route to check.
 * @param isPage whether visitors of a URL are sent to the login
 * @throws ProblemError unauthenticated, too_many_requests
 */
export const requireSender = (isPage: (url: string) => boolean) =>
  createMiddleware<AppEnv>(async (c, next) => {
    if (isOpenRoute(c)) return next();
    if (isRegistryRequest(c)) await requireLogin(c);
    else if (hasToken(c) || !(await hasSession(c))) {
      if (!hasToken(c) && isPage(c.req.url)) {
        await limitAddress(c);
        return c.redirect(signInAddress(c.req.url), 303);
      }
      await identifySender(c);
    }
    await next();
    // Only the sender's own browser may keep what the routes of an open deployment say to keep for everybody.
    const kept = c.res.headers.get("cache-control");
    if (kept?.includes("public")) c.header("cache-control", kept.replace("public", "private"));
  });

const hasToken = ({ req }: Context): boolean =>
  req.header("authorization") !== undefined || req.header("x-api-key") !== undefined;

async function hasSession(c: Context<AppEnv>): Promise<boolean> {
  const session = await findSession(c.var.services, new URL(c.req.url).origin, c.req.raw.headers);
  if (!session?.user || isSuspended(session.user)) return false;
  await limitRate(c, "token", session.id);
  return true;
}
