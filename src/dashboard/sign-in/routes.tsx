/** /sign-in, /sign-up, /welcome, /set-up, /sign-out, and the endpoints of better-auth below /auth. */
import { deleteCookie, getCookie } from "hono/cookie";
import { notFound, ProblemError } from "../../errors/errors.ts";
import { OIDC } from "../../protocol/oidc.ts";
import {
  operatorProof,
  recovery,
  signIn,
  signInCode,
  signUp,
  welcome,
} from "../../protocol/sign-in.ts";
import { parse } from "../../routes/router.ts";
import { countFailure } from "../../services/audit/sign-in.ts";
import {
  type Admission,
  admissionOfNewUser,
  INVITATION_COOKIE,
  isAdmitted,
  isAdmittedByDomain,
  type Joining,
  proveOperator,
  readAdmission,
  requireAdmitted,
} from "../../services/sign-in/admission.ts";
import { getAuth, isExposed, OIDC_CALLBACK } from "../../services/sign-in/auth-loader.ts";
import { invitedUser } from "../../services/sign-in/invitations.ts";
import {
  answerCallback,
  joinByGroups,
  requireOidc,
  suggestedUsername,
} from "../../services/sign-in/oidc.ts";
import { becomeOperator } from "../../services/sign-in/operators.ts";
import { listSignInMethods } from "../../services/sign-in/security.ts";
import { signInElsewhere, signInWithPassword, signOut } from "../../services/sign-in/sign-in.ts";
import {
  completeSignUp,
  signUp as makeAccount,
  resetPassword,
} from "../../services/sign-in/sign-up.ts";
import { signInWithCode } from "../../services/sign-in/two-factor.ts";
import { limitAttempts, limitSignUps, nextPath } from "../access.ts";
import { organizationAddress } from "../addresses.ts";
import {
  addCookies,
  type PageContext,
  pages,
  redirectWithFlash,
  requestSource,
  setTemporaryCookie,
} from "../context.ts";
import { type Draft, emptyDraft, fieldText, handleForm, pickFields, readForm } from "../form.ts";
import { leaveFor } from "./leave.tsx";
import {
  RecoverPage,
  SetUpPage,
  SignedInPage,
  SignInCodePage,
  SignInPage,
  SignUpClosedPage,
  SignUpPage,
  WelcomePage,
} from "./pages.tsx";

export const signInPages = pages()
  .get("/sign-in", (c) => {
    const next = nextPath(c.req.query("next"));
    if (c.var.viewer) return c.redirect(next, 303);
    const error = c.req.query("error");
    const { oidcOnly } = c.var.services.settings;
    const problem = error === undefined ? undefined : problemOf(error, oidcOnly);
    return showSignIn(c, problem === undefined ? emptyDraft : { issues: {}, problem }, next);
  })
  .post("/sign-in", async (c) => {
    requirePasswords(c);
    const next = nextPath(fieldText(await readForm(c), "next"));
    const { done, draft } = await handleForm(c, async (form) => {
      const request = parse(signIn, pickFields(form, "email", "password"), "body");
      await limitAttempts(c, request.email);
      return signInWithPassword(c.var.services, requestSource(c), request);
    });
    if (draft) return showSignIn(c, draft, next);
    return afterPassword(c, done, next);
  })
  .get("/sign-in/code", (c) => {
    const next = nextPath(c.req.query("next"));
    if (c.var.session) return c.redirect(next, 303);
    return c.render(<SignInCodePage draft={emptyDraft} next={next} />, { title: "Enter a code" });
  })
  .post("/sign-in/code", async (c) => {
    const next = nextPath(fieldText(await readForm(c), "next"));
    if (c.var.session) return c.redirect(next, 303);
    const { done: cookies, draft } = await handleForm(c, async (form) => {
      const { code } = parse(signInCode, pickFields(form, "code"), "body");
      await limitAttempts(c);
      return signInWithCode(c.var.services, requestSource(c), code);
    });
    if (draft)
      return c.render(<SignInCodePage draft={draft} next={next} />, { title: "Enter a code" });
    return redirectWithCookies(c, cookies, next);
  })
  .post("/sign-in/github", async (c) => {
    const { github, oidcOnly } = c.var.services.settings;
    if (!github || oidcOnly) throw notFound("Login with GitHub");
    const { url, cookies } = await beginElsewhere(c, "github");
    return redirectWithCookies(c, cookies, url);
  })
  .post("/sign-in/oidc", async (c) => {
    const { name } = requireOidc(c.var.services);
    return leaveFor(c, { ...(await beginElsewhere(c, OIDC)), name });
  })
  .get("/sign-up", async (c) => {
    const { session, viewer } = c.var;
    // A redirect would carry the fragment along, which holds the invitation token.
    if (viewer) return c.render(<SignedInPage viewer={viewer} />, { title: "Create an account" });
    if (session) return c.redirect("/", 303);
    return showSignUp(c, emptyDraft, getCookie(c, INVITATION_COOKIE));
  })
  .post("/sign-up/invitation", async (c) => {
    await limitAttempts(c);
    const token = fieldText(await readForm(c), "invitation").slice(0, MAX_TOKEN);
    // A cookie, so that it survives the round trip through GitHub.
    setTemporaryCookie(c, INVITATION_COOKIE, token, INVITATION_SECONDS);
    return c.redirect(c.var.session ? "/welcome" : "/sign-up", 303);
  })
  .post("/sign-up", async (c) => {
    requirePasswords(c);
    const form = await readForm(c);
    const token = form.has("invitation") ? fieldText(form, "invitation") : undefined;
    const { services } = c.var;
    const { done: entry, draft } = await handleForm(c, async () => {
      await limitAttempts(c);
      const admitted = await readAdmission(services, { invitation: token });
      requireAdmitted(services, admitted);
      const { invitation } = admitted;
      if (invitation?.recovers) {
        const { password } = parse(recovery, pickFields(form, "password"), "body");
        const email = await resetPassword(services, invitation, password);
        return { email, recovered: true, joining: undefined };
      }
      const request = parse(
        signUp,
        pickFields(form, "username", "name", "email", "password"),
        "body",
      );
      const { joining } = admitted;
      await limitSignUps(c, invitation?.id ?? joining?.invitation.id);
      await makeAccount(services, request, admitted);
      return { email: request.email, recovered: false, joining };
    });
    if (draft) return showSignUp(c, draft, token);
    deleteCookie(c, INVITATION_COOKIE, { path: "/" });
    const credentials = { email: entry.email, password: fieldText(form, "password") };
    const { cookies } = await signInWithPassword(services, requestSource(c), credentials);
    addCookies(c, cookies);
    if (entry.joining) return redirectToJoined(c, entry.joining);
    if (!entry.recovered) return c.redirect("/", 303);
    return redirectWithFlash(c, RECOVERED_MESSAGE, "/tokens");
  })
  .get("/welcome", async (c) => {
    if (!c.var.session || c.var.viewer) return c.redirect(c.var.viewer ? "/" : "/sign-in", 303);
    const { id, name } = c.var.session.login;
    const username = await suggestedUsername(c.var.services, id);
    return c.render(<WelcomePage draft={emptyDraft} name={name} username={username} />, {
      title: "Choose a username",
    });
  })
  .post("/welcome", async (c) => {
    const { session, viewer, services } = c.var;
    if (!session || viewer) return c.redirect(viewer ? "/" : "/sign-in", 303);
    const { done: joining, draft } = await handleForm(c, async (form) => {
      const request = parse(welcome, pickFields(form, "username", "name"), "body");
      const admitted = await readAdmission(services, {
        invitation: getCookie(c, INVITATION_COOKIE),
      });
      const { login } = session;
      const { providers } = await listSignInMethods(services, login.id);
      const by_domain = providers.includes(OIDC) ? isAdmittedByDomain(services, login) : undefined;
      await completeSignUp(services, login.id, request, {
        ...admissionOfNewUser(admitted),
        by_domain,
      });
      await joinByGroups(services, login.id);
      return admitted.joining;
    });
    if (draft)
      return c.render(<WelcomePage draft={draft} name="" username="" />, {
        title: "Choose a username",
      });
    deleteCookie(c, INVITATION_COOKIE, { path: "/" });
    return joining ? redirectToJoined(c, joining) : c.redirect("/", 303);
  })
  .get("/set-up", (c) => showSetUp(c, emptyDraft))
  .post("/set-up", async (c) => {
    const { services, viewer } = c.var;
    const { done: cookies, draft } = await handleForm(c, async (form) => {
      await limitAttempts(c);
      const { operator_token } = parse(operatorProof, pickFields(form, "operator_token"), "body");
      if (viewer) {
        await becomeOperator(services, viewer.user.id, operator_token);
        return [];
      }
      const admitted = await readAdmission(services, { operatorToken: operator_token });
      const request = parse(
        signUp,
        pickFields(form, "username", "name", "email", "password"),
        "body",
      );
      await makeAccount(services, request, admitted);
      return (await signInWithPassword(services, requestSource(c), request)).cookies;
    });
    if (draft) return showSetUp(c, draft);
    addCookies(c, cookies);
    return redirectWithFlash(c, "You are now an operator of this deployment.", "/set-up");
  })
  .post("/set-up/sign-in", async (c) => {
    if (!c.var.services.settings.oidcOnly) throw notFound("This address");
    const { done, draft } = await handleForm(c, async (form) => {
      await limitAttempts(c);
      const { operator_token } = parse(operatorProof, pickFields(form, "operator_token"), "body");
      await proveOperator(c.var.services, operator_token, "POST /set-up/sign-in");
      const request = parse(signIn, pickFields(form, "email", "password"), "body");
      await limitAttempts(c, request.email);
      return signInWithPassword(c.var.services, requestSource(c), request);
    });
    return draft ? showSetUp(c, draft) : afterPassword(c, done, "/set-up");
  })
  .post("/sign-out", async (c) =>
    redirectWithCookies(c, await signOut(c.var.services, requestSource(c)), "/sign-in"),
  )
  .all("/auth/*", async (c) => {
    if (!isExposed(c.var.services, c.req.method, c.req.path)) throw notFound("This address");
    await limitAttempts(c);
    const sent = c.req.raw.body ? { body: await c.req.arrayBuffer() } : {};
    const request = new Request(c.req.raw, sent);
    const { handler } = await getAuth(c.var.services, c.var.origin);
    const response =
      c.req.path === OIDC_CALLBACK
        ? await answerCallback(c.var.services, () => handler(request))
        : await handler(request);
    if (isRefusal(c.req.path, response)) countFailure(c.var.services);
    return response;
  });

/** Whether better-auth refuses a login with a passkey, or returns from a provider with an error. */
const isRefusal = (path: string, { status, headers }: Response): boolean =>
  path.endsWith("/verify-authentication")
    ? status >= 400
    : /[?&]error=/.test(headers.get("location") ?? "");

async function beginElsewhere(c: PageContext, provider: "github" | typeof OIDC) {
  await limitAttempts(c);
  const next = nextPath(fieldText(await readForm(c), "next"));
  return signInElsewhere(c.var.services, requestSource(c), provider, next);
}

/** @throws ProblemError forbidden */
function requirePasswords(c: PageContext): void {
  const { oidc, oidcOnly } = c.var.services.settings;
  if (!oidcOnly) return;
  throw new ProblemError(
    "forbidden",
    `This deployment has no passwords. Log in with ${oidc?.name} at /sign-in.`,
  );
}

/** @param error a code of better-auth's */
function problemOf(error: string, oidcOnly: boolean): string {
  if (error === "account_not_linked" && oidcOnly)
    return "An account with your email address exists already, and is not linked to this login. Tell an operator.";
  if (error === "account_not_linked")
    return "An account with your email address exists already. Log in to it, then link the two at Account, Security.";
  if (error === "not_admitted")
    return "You do not have an account here yet. Ask an operator for an invitation.";
  if (error === "email_not_found")
    return "The login provider sent no email address. Ask an operator to let it send the claim 'email'.";
  return "The login failed. Try again; if it fails again, tell an operator.";
}

function redirectWithCookies(c: PageContext, cookies: string[], address: string): Response {
  addCookies(c, cookies);
  return c.redirect(address, 303);
}

/** Goes on to `next`, or first to the page that asks for a code. */
const afterPassword = (
  c: PageContext,
  { cookies, needsCode }: Awaited<ReturnType<typeof signInWithPassword>>,
  next: string,
) =>
  redirectWithCookies(
    c,
    cookies,
    needsCode ? `/sign-in/code?next=${encodeURIComponent(next)}` : next,
  );

const redirectToJoined = (c: PageContext, { organization }: Joining) =>
  redirectWithFlash(
    c,
    `You have joined ${organization.username}.`,
    organizationAddress(organization),
  );

const RECOVERED_MESSAGE =
  "Password changed. All sessions were logged out, and all passkeys, links to other logins and the authenticator app removed. Access tokens still work: revoke any you do not recognize.";

const INVITATION_SECONDS = 3_600;
/** Longer than any invitation token. */
const MAX_TOKEN = 100;

function showSignIn(c: PageContext, draft: Draft, next: string) {
  const { github, signUp, oidc, oidcOnly } = c.var.services.settings;
  const ways = { passwords: !oidcOnly, github: !!github && !oidcOnly, oidc: oidc?.name };
  const page = <SignInPage draft={draft} next={next} ways={ways} open={signUp === "open"} />;
  return c.render(page, { title: "Log in", scripts: ["account"] });
}

async function showSignUp(c: PageContext, draft: Draft, token: string | undefined) {
  const { services } = c.var;
  const title = "Create an account";
  const admitted = await readAdmission(services, { invitation: token });
  const { invitation, joining } = admitted;
  const invited = invitation && (await invitedUser(services, invitation));
  const { oidc, oidcOnly, github } = services.settings;
  if (oidcOnly) requireNewcomer(invitation);
  if (invitation?.recovers && invited && token !== undefined) {
    const page = <RecoverPage draft={draft} token={token} username={invited.username} />;
    return c.render(page, { title: "Choose a new password" });
  }
  const invalid = !!token && invitation === undefined && joining === undefined;
  if (!isAdmitted(services, admitted)) {
    const closed = services.settings.signUp === "closed";
    const page = <SignUpClosedPage closed={closed} invalid={invalid} />;
    return c.render(page, { title, scripts: ["account"] });
  }
  const text = joining
    ? `You will join ${joining.organization.username} as ${joining.invitation.role}.`
    : `Invitation for ${invitation?.note}.`;
  const invitationProps =
    (invitation ?? joining) && token !== undefined
      ? { token, text, username: invited?.username }
      : undefined;
  const ways = {
    passwords: !oidcOnly,
    github: !!github && !oidcOnly && invited === undefined,
    oidc: invited === undefined ? oidc?.name : undefined,
  };
  const page = (
    <SignUpPage draft={draft} ways={ways} invitation={invitationProps} invalid={invalid} />
  );
  return c.render(page, { title, scripts: ["account"] });
}

/** An invitation for an existing user sets a password. @throws ProblemError forbidden */
function requireNewcomer(invitation: Admission["invitation"]): void {
  if (invitation === undefined || invitation.user_id === null) return;
  throw new ProblemError(
    "forbidden",
    "This link sets a password, and this deployment has no passwords. Log in at /sign-in.",
  );
}

const showSetUp = (c: PageContext, draft: Draft) =>
  c.render(
    <SetUpPage draft={draft} viewer={c.var.viewer} oidcOnly={c.var.services.settings.oidcOnly} />,
    { title: "Set up this deployment" },
  );
