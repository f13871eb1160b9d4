/** Sessions, form tokens and the access checks of pages. */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { timingSafeEqual } from "../domain/accounts/token.ts";
import { notFound, ProblemError, problemEvent, problemLine } from "../errors/errors.ts";
import { describeRequest } from "../lib/current-request.ts";
import { hex } from "../lib/hex.ts";
import { signInAddress } from "../middleware/closed.ts";
import { clientNetwork, limitRate, limitSignIn } from "../middleware/rate-limit.ts";
import { DEFAULT_SCOPES } from "../protocol/operator.ts";
import type { Role } from "../protocol/organization.ts";
import {
  accessLost,
  hasAccessStill,
  isSuspended,
  operatorEnded,
  requireAccountAccess,
  SUSPENDED,
} from "../services/access/access.ts";
import { senderOf } from "../services/audit/record.ts";
import { streamReader } from "../services/predictions/event-log.ts";
import { findSession, renewSessionCookie, type Session } from "../services/sign-in/sessions.ts";
import { signOut } from "../services/sign-in/sign-in.ts";
import { limitSignUpAttempts } from "../services/sign-in/sign-up-attempts.ts";
import { findPrincipal } from "../storage/accounts/reader-access.ts";
import { findUser } from "../storage/accounts/users.ts";
import { addCookies, type Dashboard, type PageContext, type Viewer } from "./context.ts";
import { isForm, readForm } from "./form.ts";

/** Methods that change nothing. */
export const SAFE_METHODS = new Set(["GET", "HEAD"]);

export const FORM_TOKEN_FIELD = "form_token";
const FORM_TOKEN_HEADER = "x-form-token";

export const loadSession = createMiddleware<Dashboard>(async (c, next) => {
  const { origin } = new URL(c.req.url);
  c.set("origin", origin);
  const { services } = c.var;
  const renewed = await renewSessionCookie(services.settings.secretKeys, c.req.raw.headers);
  // Later middleware must see the re-signed cookie.
  if (renewed) c.req.raw = new Request(c.req.raw, { headers: renewed.headers });
  const { headers } = c.req.raw;
  const session = await findSession(services, origin, headers);
  if (session?.user && isSuspended(session.user)) {
    // Explained once; the next request has no session.
    addCookies(c, await signOut(services, { origin, headers }));
    throw new AccountSuspended("forbidden", SUSPENDED);
  }
  c.set("session", session);
  const viewer = session?.user && viewerIn(session, session.user);
  c.set("viewer", viewer);
  if (viewer) {
    c.set("caller", viewer.caller);
    describeRequest({ sender: senderOf(viewer.caller) });
  }
  const [newest = ""] = services.settings.secretKeys;
  c.set("formToken", session ? await formTokenOf(newest, session.id) : "");
  if (session && renewed) addCookies(c, [renewed.cookie]);
  addCookies(c, session?.cookies ?? []);
  await next();
});

/**
 * CSRF protection for all pages: a write must come from our origin and, with a session, carry that
 * session's form token. The origin check covers requests without a session; the token covers other
 * sites of the same registrable domain, stale pages and browsers that omit Sec-Fetch-Site.
 */
export const requireFormToken = createMiddleware<Dashboard>(async (c, next) => {
  if (!SAFE_METHODS.has(c.req.method)) {
    const { origin, session } = c.var;
    const site = c.req.header("sec-fetch-site") ?? "same-origin";
    if (c.req.header("origin") !== origin || site !== "same-origin") {
      throw new ProblemError("forbidden", `This form can only be submitted from ${origin}.`);
    }
    if (session && !(await hasFormToken(c, session.id))) {
      throw new SessionEnded(
        "forbidden",
        "Your session has changed since this form was loaded. Go back, reload the page and submit it again.",
      );
    }
  }
  await next();
});

export const requireUser = createMiddleware<Dashboard>(async (c, next) => {
  if (!c.var.viewer) {
    if (c.var.session) return c.redirect("/welcome", 303);
    if (SAFE_METHODS.has(c.req.method)) return c.redirect(signInAddress(c.req.url), 303);
    throw new SessionEnded("unauthenticated", "You are logged out. Log in and try again.");
  }
  await next();
});

/** The account is suspended; this problem has a page of its own. */
export class AccountSuspended extends ProblemError {}

/** The form came from our page, but its session has ended: it can be submitted again. */
class SessionEnded extends ProblemError {}

export const isSessionEnded = (problem: ProblemError): boolean => problem instanceof SessionEnded;

/** A 404 for everybody else, so that operator pages are not revealed. */
export const requireOperator = createMiddleware<Dashboard>(async (c, next) =>
  requireUser(c, async () => {
    const { operator, caller } = viewerOf(c);
    if (!operator) throw notFound("This page");
    describeRequest({ sender: { ...senderOf(caller), type: "operator" } });
    await next();
  }),
);

/**
 * Admits who has at least this role in the account of the page.
 * @param what "The usage of the account"
 */
export const requireRole = (least: Role, what: string) =>
  createMiddleware<Dashboard>(async (c, next) =>
    requireUser(c, async () => {
      await requireAccountAccess(c.var.services, viewerOf(c).caller, what, least);
      await next();
    }),
  );

export const newModelAccess = requireRole("developer", "New models");

export function viewerOf(c: Context<Dashboard>): Viewer {
  if (c.var.viewer) return c.var.viewer;
  throw new ProblemError("unauthenticated", "You are not logged in.");
}

/** Returns the reader of a stream in a page; the stream ends with the session. */
export function pageReader(c: Context<Dashboard>) {
  const { session_id, caller } = viewerOf(c);
  const credential = { kind: "session", id: session_id, user_id: caller.user_id } as const;
  return streamReader(c.var.services, credential, problemEvent(signedOut(), c));
}

/** The last line of an export whose reader's session has ended, or whose role became too low. */
export async function sessionEndedLine(c: Context<Dashboard>): Promise<string | undefined> {
  const { session_id: id, caller } = viewerOf(c);
  const credential = { kind: "session", id, user_id: caller.user_id } as const;
  const { services } = c.var;
  const principal = await findPrincipal(services.db, credential);
  if (!principal) return problemLine(signedOut(), c);
  const isAllowed = await hasAccessStill(services, principal, caller);
  return isAllowed ? undefined : problemLine(accessLost(), c);
}

/** Like `sessionEndedLine`, for an export of an operator, who may have been demoted. */
export async function operatorEndedLine(c: Context<Dashboard>): Promise<string | undefined> {
  const ended = await sessionEndedLine(c);
  if (ended !== undefined) return ended;
  const user = await findUser(c.var.services.db, viewerOf(c).user.id);
  return user?.operator_since == null ? problemLine(operatorEnded(), c) : undefined;
}

const signedOut = () => new ProblemError("unauthenticated", "You are logged out.");

function viewerIn(session: Session, user: Viewer["user"]): Viewer {
  const { id, login, organizations } = session;
  return {
    user,
    account: user,
    organizations,
    operator: user.operator_since !== null,
    email: login.email,
    session_id: id,
    session,
    caller: {
      token_id: id,
      user_id: user.id,
      maker: "",
      role: "owner",
      scopes: DEFAULT_SCOPES,
      models: null,
      priority: null,
      is_session: true,
      proves_factor: session.proves_factor,
    },
  };
}

/** The form token is bound to one session: it is useless without the session's cookie. */
async function formTokenOf(secret: string, sessionId: string): Promise<string> {
  const encoder = new TextEncoder();
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("raw", encoder.encode(secret), algorithm, false, [
    "sign",
  ]);
  return hex(await crypto.subtle.sign("HMAC", key, encoder.encode(`form ${sessionId}`)));
}

/** The check also accepts forms served before SECRET_KEY was rotated. */
async function hasFormToken(c: Context<Dashboard>, sessionId: string): Promise<boolean> {
  const { secretKeys } = c.var.services.settings;
  const [sent, ...tokens] = await Promise.all([
    submittedToken(c),
    ...secretKeys.map((secret) => formTokenOf(secret, sessionId)),
  ]);
  return tokens.some((token) => timingSafeEqual(sent, token));
}

async function submittedToken(c: Context<Dashboard>): Promise<string> {
  const sent = c.req.header(FORM_TOKEN_HEADER);
  if (sent !== undefined) return sent;
  if (!isForm(c.req.header("content-type"))) return "";
  const field = (await readForm(c)).get(FORM_TOKEN_FIELD);
  return typeof field === "string" ? field : "";
}

/** Only a path of this origin: anything else would be an open redirect. */
export function nextPath(text: string | undefined): string {
  if (!text?.startsWith("/") || text.startsWith("//") || !/^[\x21-\x5b\x5d-\x7e]*$/.test(text))
    return "/";
  return text;
}

/**
 * Counts against the network and against the account, so that neither many accounts can be tried
 * from one network nor one account from many. The limit of a network is lower than that of an
 * account: a single network cannot lock an owner out.
 * @param tried an email address, or the session that confirms its password
 * @throws ProblemError too_many_requests
 */
export async function limitAttempts(c: PageContext, tried?: string): Promise<void> {
  await limitSignIn(c);
  if (tried !== undefined) await limitRate(c, "account", tried);
}

/**
 * A sign-up reveals whether an email address has an account, so each network, or each invitation,
 * gets a few a day.
 * @throws ProblemError too_many_requests
 */
export async function limitSignUps(c: PageContext, invitationId?: string): Promise<void> {
  const { services } = c.var;
  if (!services.settings.rateLimits) return;
  await limitSignUpAttempts(services, invitationId ?? clientNetwork(c));
}
