/** Bearer tokens: of users, of runners, of the operator; and how often each may ask. */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import type { Grant } from "../domain/files/signed-url.ts";
import { ProblemError, problemEvent } from "../errors.ts";
import { logger } from "../log.ts";
import { signedQuery } from "../protocol/file.ts";
import type { Scope } from "../protocol/operator.ts";
import type { Caller } from "../services/accounts/caller.ts";
import {
  authenticate,
  authenticateOperator,
  authenticateRunner,
  type TokenCheck,
} from "../services/accounts/tokens.ts";
import { isValidSignature } from "../services/files/signed-urls.ts";
import type { Services } from "../services/services.ts";
import { fileKey } from "../storage/files/files.ts";
import { limitAddress, limitRate } from "./rate-limit.ts";
import { RECENT_CHECK_MS } from "./stream-end.ts";

/** Lets in users whose token has one of the scopes. */
export const requireScope = (...scopes: [Scope, ...Scope[]]) => users(ofToken, oneOf(scopes));

/**
 * As `authenticated`, to change what is kept. It is their account that is limited, whatever its
 * tokens: each change is work for D1, which has one thread for all.
 */
export const requireScopeToWrite = (...scopes: [Scope, ...Scope[]]) =>
  users(ofWrites, oneOf(scopes));

/** As `changing`, for users whose token has each of the scopes. */
export const requireAllScopesToWrite = (...scopes: [Scope, Scope]) =>
  users(ofWrites, allOf(scopes));

/**
 * Lets in users who may create predictions, or have one told of once more. It is their account that
 * is limited, whatever its tokens, and that alone: on the hot path one question is asked, not two.
 */
export const requireScopeToPredict = users(ofAccount, oneOf(["predict"]));

/** Lets in users who may change endpoints, to have one tested: limited as creating is, it posts too. */
export const requireScopesToTest = users(ofAccount, allOf(["write", "read"]));

/** Lets in everybody, but nobody with a bad token. Who may not read sees what nobody sees. */
export const allowAnonymous = createMiddleware<AppEnv>(async (c, next) => {
  if (c.req.header("authorization") === undefined) {
    await limitAddress(c);
  } else {
    const caller = await identify(c, authenticate);
    await ofToken(c, caller);
    if (caller.scopes.includes("read")) c.set("caller", caller);
  }
  await next();
});

/**
 * Lets in everybody with a signed address, whatever token comes along (clients send theirs with
 * every address that they are given); its route looks at the signature. Without one as `anybody`.
 */
export const allowSignedUrl = createMiddleware<AppEnv>(async (c, next) => {
  if (c.req.query("signature") === undefined) return allowAnonymous(c, next);
  const { grant, source } = grantedTo(c);
  const query = signedQuery.safeParse(c.req.query()).data;
  // By what it is for: a fleet, or an office, is behind one address. Only who guesses counts by that.
  if (query && (await isValidSignature(c.var.services, grant, query))) {
    await limitRate(c, "token", source);
  } else await limitAddress(c);
  await next();
});

/** What a signed address is for, as its path says: a part of an upload, or a file. */
function grantedTo({ req }: Context<AppEnv>): { grant: Grant; source: string } {
  const { upload_id, part_number, source_id = "", file_name = "" } = req.param();
  return upload_id === undefined
    ? { grant: ["file", fileKey(source_id, file_name)], source: source_id }
    : {
        grant: [
          "part",
          upload_id,
          Number(part_number),
          Number(req.query("size")),
          req.query("holder") ?? null,
        ],
        source: upload_id,
      };
}

/** Lets in runners: without a limit, for a fleet behind one address polls, reports and reconnects at once. */
export const requireRunner = createMiddleware<AppEnv>(async (c, next) => {
  c.set("runner", await identify(c, authenticateRunner));
  await next();
});

/** Lets in the operator: without a limit, for scripts set up a whole deployment in one go. */
export const requireOperator = createMiddleware<AppEnv>(async (c, next) => {
  await identify(c, authenticateOperator);
  c.set("operator", true);
  await next();
});

/**
 * @param count against what a request counts
 * @param check throws for those who may not
 */
function users(
  count: (c: Context<AppEnv>, caller: Caller) => Promise<void>,
  check: (caller: Caller) => void,
) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const caller = await identify(c, authenticate);
    await count(c, caller);
    check(caller);
    c.set("caller", caller);
    await next();
  });
}

/**
 * For what has been waited for: the token may have ended meanwhile. While it is remembered this
 * costs nothing.
 * @throws ProblemError unauthenticated
 */
export async function requireValidToken(c: Context<AppEnv>): Promise<void> {
  const ended = await endedToken(c);
  if (ended) throw ended;
}

/** The last words of a stream whose token is not good any more. */
export async function tokenEndedEvent(c: Context<AppEnv>): Promise<string | undefined> {
  const ended = await endedToken(c, RECENT_CHECK_MS);
  return ended && problemEvent(ended, c);
}

/** @param within how long ago it may have been looked at, ms */
async function endedToken(c: Context<AppEnv>, within?: number): Promise<ProblemError | undefined> {
  // It was good when the request began: it is no guess.
  const asking: TokenCheck = { aside: asideOf(c), beforeLookUp: async () => {} };
  try {
    await authenticate(c.var.services, bearer(c), asking, within);
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unauthenticated") return error;
    // That nobody could tell just now ends nothing.
    logger.error("Token check failed", { request_id: c.var.requestId, error });
  }
  return undefined;
}

/** And against the account: it may have a hundred tokens. */
async function ofToken(c: Context<AppEnv>, { token_id, user_id }: Caller): Promise<void> {
  await Promise.all([limitRate(c, "token", token_id), limitRate(c, "user", user_id)]);
}

function ofWrites(c: Context<AppEnv>, { user_id }: Caller): Promise<void> {
  return limitRate(c, "writes", user_id);
}

function ofAccount(c: Context<AppEnv>, { user_id }: Caller): Promise<void> {
  return limitRate(c, "predictions", user_id);
}

/**
 * Whose token it is. One that is nobody's counts against the address: guessing is limited. One that
 * this isolate has never seen to be good counts before D1 is asked, and may be anybody's until then.
 */
async function identify<Who>(
  c: Context<AppEnv>,
  whoHas: (services: Services, token: string, asking: TokenCheck) => Who | Promise<Who>,
): Promise<Who> {
  let counting: Promise<void> | undefined;
  const count = () => {
    counting ??= limitAddress(c);
    return counting;
  };
  try {
    const asking: TokenCheck = { aside: asideOf(c), beforeLookUp: count };
    const who = await whoHas(c.var.services, bearer(c), asking);
    // It is not one of those that the address is limited for.
    c.set("rate", undefined);
    return who;
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unauthenticated") await count();
    throw error;
  }
}

/** When a token was last used is for people to read: a request neither waits for it nor fails. */
const asideOf =
  (c: Context<AppEnv>): TokenCheck["aside"] =>
  (task) =>
    c.executionCtx.waitUntil(
      task().catch((error) =>
        logger.error("Last use of a token not recorded", { request_id: c.var.requestId, error }),
      ),
    );

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
  new ProblemError("forbidden", `This needs a token with ${what}. Make one at /tokens.`);

function bearer(c: Context): string {
  const [, token] = /^bearer +(\S+)$/i.exec(c.req.header("authorization") ?? "") ?? [];
  if (token) return token;
  throw new ProblemError(
    "unauthenticated",
    "Send a token: 'Authorization: Bearer <ACCESS_TOKEN>'. Access tokens are made at /tokens.",
  );
}
