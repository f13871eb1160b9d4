/** Bearer tokens: of users, of runners, of the operator; and how often each may ask. */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { ProblemError } from "../errors.ts";
import { errorText } from "../log.ts";
import type { Scope } from "../protocol/operator.ts";
import type { App } from "../routes/context.ts";
import type { Services } from "../services/services.ts";
import {
  type Aside,
  authenticate,
  authenticateOperator,
  authenticateRunner,
  type Caller,
} from "../services/tokens.ts";
import { limitAddress, limitRate } from "./rate-limit.ts";

/** Lets in users whose token has one of the scopes. */
export const authenticated = (...scopes: [Scope, ...Scope[]]) => users(ofToken, oneOf(scopes));

/** Lets in users whose token has each of the scopes. */
export const authenticatedWithAll = (...scopes: [Scope, Scope]) => users(ofToken, allOf(scopes));

/**
 * Lets in users who may create predictions, or have one told of once more. It is their account that
 * is limited, whatever its tokens, and that alone: on the hot path one question is asked, not two.
 */
export const creating = users(ofAccount, oneOf(["predict"]));

/** Lets in users who may change endpoints, to have one tested: limited as creating is, it posts too. */
export const testing = users(ofAccount, allOf(["write", "read"]));

/** Lets in everybody, but nobody with a bad token. Who may not read sees what nobody sees. */
export const anybody = createMiddleware<App>(async (c, next) => {
  if (c.req.header("authorization") === undefined) {
    await limitAddress(c);
  } else {
    const caller = await identify(c, authenticate);
    await limitRate(c, "token", caller.token_id);
    if (caller.scopes.includes("read")) c.set("caller", caller);
  }
  await next();
});

/**
 * Lets in everybody with a signed address, whatever token comes along (clients send theirs with
 * every address that they are given); its route looks at the signature. Without one as `anybody`.
 */
export const signedOrAnybody = createMiddleware<App>(async (c, next) => {
  if (c.req.query("signature") === undefined) return anybody(c, next);
  // By what it is for: a fleet, or an office, is behind one address, and a signature is no guess.
  await limitRate(c, "token", c.req.param("upload_id") ?? c.req.param("source_id") ?? "");
  await next();
});

/** Lets in runners: without a limit, for a fleet behind one address polls, reports and reconnects at once. */
export const runnersOnly = createMiddleware<App>(async (c, next) => {
  c.set("runner", await identify(c, authenticateRunner));
  await next();
});

/** Lets in the operator: without a limit, for scripts set up a whole deployment in one go. */
export const operatorOnly = createMiddleware<App>(async (c, next) => {
  await identify(c, authenticateOperator);
  await next();
});

/**
 * @param count against what a request counts
 * @param check throws for those who may not
 */
function users(
  count: (c: Context<App>, caller: Caller) => Promise<void>,
  check: (caller: Caller) => void,
) {
  return createMiddleware<App>(async (c, next) => {
    const caller = await identify(c, authenticate);
    await count(c, caller);
    check(caller);
    c.set("caller", caller);
    await next();
  });
}

function ofToken(c: Context<App>, { token_id }: Caller): Promise<void> {
  return limitRate(c, "token", token_id);
}

function ofAccount(c: Context<App>, { user_id }: Caller): Promise<void> {
  return limitRate(c, "predictions", user_id);
}

/** Whose token it is. One that is nobody's counts against the address: guessing is limited. */
async function identify<Who>(
  c: Context<App>,
  whoHas: (services: Services, token: string, aside: Aside) => Who | Promise<Who>,
): Promise<Who> {
  // When a token was last used is for people to read: a request neither waits for it nor fails.
  const aside: Aside = (task) =>
    c.executionCtx.waitUntil(
      task().catch((error) => console.error("use not noted", { error: errorText(error) })),
    );
  try {
    return await whoHas(c.var.services, bearer(c), aside);
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unauthenticated") await limitAddress(c);
    throw error;
  }
}

function oneOf(scopes: Scope[]) {
  return (caller: Caller): void => {
    if (scopes.some((scope) => caller.scopes.includes(scope))) return;
    throw forbidden(`the scope ${scopes.join(" or ")}`);
  };
}

function allOf(scopes: Scope[]) {
  return (caller: Caller): void => {
    const missing = scopes.filter((scope) => !caller.scopes.includes(scope));
    if (missing.length === 0) return;
    throw forbidden(`the scopes ${scopes.join(" and ")}: it lacks ${missing.join(" and ")}`);
  };
}

const forbidden = (what: string) =>
  new ProblemError("forbidden", `This needs a token with ${what}.`);

function bearer(c: Context): string {
  const [, token] = /^bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "") ?? [];
  if (token) return token;
  throw new ProblemError(
    "unauthenticated",
    "Send a token: 'Authorization: Bearer <ACCESS_TOKEN>'.",
  );
}
