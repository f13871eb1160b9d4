/** Authentication by bearer token (users, runners, operators), with the rate limit of each. */
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import { RECENT_CHECK_MS } from "../domain/accounts/access.ts";
import { isToken } from "../domain/accounts/token.ts";
import { WRITE_ROWS, type WriteRoute } from "../domain/accounts/write-rows.ts";
import type { Grant } from "../domain/files/signed-url.ts";
import { conventionOf, ProblemError } from "../errors/errors.ts";
import { isReplicateRequest } from "../errors/replicate.ts";
import { describeRequest } from "../lib/current-request.ts";
import { logger } from "../log.ts";
import { signedQuery } from "../protocol/file.ts";
import { isForOperators, type Scope } from "../protocol/operator.ts";
import {
  accessLost,
  type Caller,
  hasAccessStill,
  operatorEnded,
  tokensPage,
} from "../services/access/access.ts";
import {
  authenticate,
  authenticateOperator,
  authenticateRunner,
  type TokenCheck,
} from "../services/access/authentication.ts";
import { OPERATOR_TOKEN_SENDER, recordOperatorToken, senderOf } from "../services/audit/record.ts";
import { isValidSignature } from "../services/files/signed-urls.ts";
import { findTokenToCreate } from "../services/predictions/version-resolution.ts";
import { isSeenRunner } from "../services/runners/runners.ts";
import type { Services } from "../services/services.ts";
import { fileKey } from "../storage/files/files.ts";
import type { NamedModel } from "./named-model.ts";
import { clientNetwork, lengthOf, limitAddress, limitRate, meterWrites } from "./rate-limit.ts";
import { countWithToken, requireWithinLimits } from "./token-limits.ts";

export const requireScope = (...scopes: [Scope, ...Scope[]]) =>
  userToken(countByToken, anyScope(scopes));

/**
 * Like `requireScope`, for requests that write. The limit is per account, not per token: each write
 * is work for D1, which has one thread for all accounts.
 */
export const requireScopeToWrite = (route: WriteRoute, ...scopes: [Scope, ...Scope[]]) =>
  userToken(countWrite, anyScope(scopes), { route });

/** Like `requireScopeToWrite`, with a token that has all of the scopes. */
export const requireAllScopesToWrite = (route: WriteRoute, ...scopes: [Scope, Scope]) =>
  userToken(countWrite, allScopes(scopes), { route });

/**
 * Requires a token that can create predictions (or redeliver their webhooks). Only the account's
 * limit applies, not the token's as well: one check on the hot path instead of two.
 */
export const requireScopeToPredict = userToken(countPrediction, anyScope(["predict"]));

/**
 * Requires a token that can create predictions, on routes that run a model: an isolate that does not know the
 * token looks up token and model at once.
 * @param named the model that the request names, as far as that can be known before its sender
 */
export const requireScopeToRun = (named: NamedModel) =>
  userToken(countPrediction, anyScope(["predict"]), { named });

/** Requires a token that can change webhook endpoints, to test one. Limited like creating predictions. */
export const requireScopesToTest = userToken(countPrediction, allScopes(["write", "read"]));

/**
 * Allows requests without a token to public routes; a token must be valid. A token without `read` sees only
 * public resources.
 */
export const allowAnonymous = createMiddleware<AppEnv>(async (c, next) => {
  if (c.req.header("authorization") === undefined) {
    await limitAddress(c);
  } else {
    const caller = await identifyCaller(c);
    await countByToken(c, caller);
    if (caller.scopes.includes("read")) c.set("caller", caller);
  }
  await next();
});

/**
 * Allows requests with signed URLs. A signed request is authorized by its route, even if it has a token,
 * since clients send theirs with every URL. Without a signature, the token is treated as by `allowAnonymous`.
 */
export const allowSignedUrl = createMiddleware<AppEnv>(async (c, next) => {
  if (c.req.query("signature") === undefined) return allowAnonymous(c, next);
  const { grant, source } = grantFor(c);
  const query = signedQuery.safeParse(c.req.query()).data;
  // Valid signatures do not count against the address: a public picture has many visitors, and one address
  // can use up half of the shared budget. Invalid signatures count against the address alone.
  if (query && (await isValidSignature(c.var.services, grant, query))) {
    await limitRate(c, "token", `${source} ${clientNetwork(c)}`);
    await limitRate(c, "file", source);
  } else await limitAddress(c);
  await next();
});

/** Returns the grant that a request's signature must match, by its path: a part of an upload, or a file. */
function grantFor({ req }: Context<AppEnv>): { grant: Grant; source: string } {
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

/** Returns a user by the access token that a request brings in some other way. @throws ProblemError */
export const identifyUser = (c: Context<AppEnv>, token: string): Promise<Caller> =>
  identifyCaller(c, { token });

/** Resolves a token of any kind, whatever its sender may do. @throws ProblemError */
export const identifySender = (c: Context<AppEnv>) =>
  identify<unknown>(c, async (services, token, check) => {
    if (isToken(token, "ausr")) return authenticateRunner(services, token, check);
    if (c.req.path.startsWith("/v1/operator/")) return authenticateOperator(services, token, check);
    requireWithinLimits(c, await authenticate(services, token, check));
  });

/**
 * Requires a runner token. It has no limit by address: the runners behind one address poll, report and
 * reconnect together.
 */
export const requireRunner = createMiddleware<AppEnv>(async (c, next) => {
  c.set("runner", await identify(c, authenticateRunner));
  await next();
});

/**
 * Limits calls of runners that are written each time, to D1 or to the runner's object. The limit is per
 * token, not per runner: one token has up to a thousand names. A thousand runners may still start at once.
 */
export const limitRunnerToken = createMiddleware<AppEnv>(async (c, next) => {
  await limitRate(c, "token", c.var.runner.token_id);
  await next();
});

/**
 * Limits the reports of runners to their pool, which is one object for all of them and works on each
 * snapshot. The limit is per runner, since a token may have a thousand. An id that this isolate has not seen
 * with the token counts against the token, so that made-up ids do not evade the limit.
 */
export async function limitRunner(c: Context<AppEnv>, runnerId = ""): Promise<void> {
  const { runner } = c.var;
  await limitRate(c, "token", isSeenRunner(runner, runnerId) ? runnerId : runner.token_id);
}

/**
 * Requires an operator's token with the scope `operator`, or OPERATOR_TOKEN. Operators have no rate limit: scripts
 * set up a whole deployment at once. What a request writes (other operators, tokens) may outlive the cache, so a
 * write looks the token up again.
 */
export const requireOperator = createMiddleware<AppEnv>(async (c, next) => {
  const maxAgeMs = c.req.method === "GET" ? undefined : 0;
  const operator = await identify(c, (services, token, check) =>
    authenticateOperator(services, token, check, maxAgeMs),
  );
  if (operator.kind === "token") {
    await requireOperatorsToken(c, operator.caller);
    describeRequest({ sender: { ...senderOf(operator.caller), type: "operator" } });
  } else {
    describeRequest({ sender: OPERATOR_TOKEN_SENDER });
    await recordOperatorToken(c.var.services, `${c.req.method} ${c.req.path}`);
  }
  c.set("operator", operator);
  await next();
});

/** Requires an operator's token with the scope `metrics` or `operator`. OPERATOR_TOKEN has no part in it. */
export const requireMetrics = createMiddleware<AppEnv>(async (c, next) => {
  const caller = await identifyCaller(c);
  await countByToken(c, caller);
  if (!caller.is_operator || !isForOperators(caller.scopes))
    throw new ProblemError(
      "forbidden",
      "Metrics require a token with the scope metrics, of an operator. Operators create one at /tokens.",
    );
  await next();
});

async function requireOperatorsToken(c: Context<AppEnv>, caller: Caller): Promise<void> {
  const { scopes, is_operator } = caller;
  if (is_operator && scopes.includes("operator")) return;
  await countByToken(c, caller);
  throw new ProblemError(
    "forbidden",
    is_operator
      ? "This requires a token with the scope operator. Create one at /tokens."
      : "Only operators can do this. Ask an operator of this deployment, who can make you one on your page under Users.",
  );
}

/**
 * @param count counts the request against its rate limits
 * @param check throws if the token lacks the scopes
 * @param route the write that the route makes, if any
 */
function userToken(
  count: (c: Context<AppEnv>, caller: Caller) => Promise<void>,
  check: (caller: Caller) => void,
  { named, route }: { named?: NamedModel; route?: WriteRoute } = {},
) {
  return createMiddleware<AppEnv>(async (c, next) => {
    const caller = await identifyCaller(c, { named });
    await count(c, caller);
    check(caller);
    c.set("caller", caller);
    const isForm = /^multipart\/form-data\b/i.test(c.req.header("content-type") ?? "");
    if (route === undefined && !isForm) return next();
    const rows = route === undefined ? 0 : WRITE_ROWS[route];
    // The bytes of a form count, since its files go to R2 while it arrives.
    const bytes = isForm ? lengthOf(c.req.header("content-length")) : 0;
    await meterWrites(c, caller.user_id, { rows, bytes }, next);
  });
}

/**
 * Checks the token again before a response that the client waited for, and that it still covers what the
 * request reads or runs: a token may have been revoked meanwhile, a role lowered, or a share ended. Free while
 * the token is cached.
 * @throws ProblemError unauthenticated, forbidden
 */
export async function requireValidToken(c: Context<AppEnv>): Promise<void> {
  const ended = await endedToken(c);
  if (ended) throw ended;
}

/**
 * Returns the last words of a stream whose token has ended, or no longer covers what the stream reads.
 * @param say writes a problem in the stream's own format
 */
export async function tokenEndedWords(
  c: Context<AppEnv>,
  say: (problem: ProblemError, c: Context) => string,
): Promise<string | undefined> {
  const ended = await endedToken(c, RECENT_CHECK_MS);
  return ended && say(ended, c);
}

const REFUSALS: ReadonlySet<string> = new Set(["unauthenticated", "forbidden"]);

/** Like `tokenEndedWords`, for what only operators read: one may have been demoted. */
export async function operatorEndedWords(
  c: Context<AppEnv>,
  say: (problem: ProblemError, c: Context) => string,
): Promise<string | undefined> {
  const { operator } = c.var;
  if (operator.kind === "operator_token") return undefined;
  const ended = await endedToken(c, RECENT_CHECK_MS, operator.caller, (now) => now.is_operator);
  return ended && say(ended, c);
}

/** @param maxAgeMs how old a cached check may be */
async function endedToken(
  c: Context<AppEnv>,
  maxAgeMs?: number,
  caller = c.var.caller,
  isAllowed: (now: Caller) => boolean | undefined = () => true,
): Promise<ProblemError | undefined> {
  // The token was valid when the request began, so it is not a guess to be limited.
  const check: TokenCheck = { runInBackground: backgroundOf(c), beforeLookUp: async () => {} };
  try {
    const { services } = c.var;
    const now = await authenticate(services, bearer(c), check, maxAgeMs);
    requireWithinLimits(c, now);
    if (!isAllowed(now)) return operatorEnded();
    if (!(await hasAccessStill(services, now, caller))) return accessLost();
  } catch (error) {
    const isRefusal = error instanceof ProblemError && REFUSALS.has(error.code);
    if (isRefusal) return error;
    // If the token cannot be checked right now, the stream goes on.
    logger.error("Token check failed", { request_id: c.var.requestId, error });
  }
  return undefined;
}

/** Counts a request per token, and per account, which may have hundreds of tokens. */
async function countByToken(c: Context<AppEnv>, { token_id, user_id }: Caller): Promise<void> {
  await Promise.all([limitRate(c, "token", token_id), limitRate(c, "user", user_id)]);
}

function countWrite(c: Context<AppEnv>, { user_id }: Caller): Promise<void> {
  return limitRate(c, "writes", user_id);
}

function countPrediction(c: Context<AppEnv>, caller: Caller): Promise<void> {
  countWithToken(c, caller, "predictions");
  return limitRate(c, "predictions", caller.user_id);
}

/**
 * Resolves the token. An invalid one counts against the IP address, which limits guessing. A token
 * that this isolate has never seen to be valid counts before D1 is asked.
 * @param token by default that of the header `Authorization`
 */
async function identify<Identity>(
  c: Context<AppEnv>,
  authenticator: (
    services: Services,
    token: string,
    check: TokenCheck,
  ) => Identity | Promise<Identity>,
  { token, named }: { token?: string; named?: NamedModel | undefined } = {},
): Promise<Identity> {
  let counting: Promise<void> | undefined;
  const count = () => {
    counting ??= limitAddress(c);
    return counting;
  };
  try {
    const check: TokenCheck = {
      runInBackground: backgroundOf(c),
      beforeLookUp: count,
      findToken:
        named && (async (services, hash) => findTokenToCreate(services, hash, await named(c))),
    };
    const identity = await authenticator(c.var.services, token ?? bearer(c), check);
    // A valid token: the address limit does not apply.
    c.set("rate", undefined);
    return identity;
  } catch (error) {
    if (error instanceof ProblemError && error.code === "unauthenticated") await count();
    throw error;
  }
}

/** Like `identify`, for a user, within the limits of the token. Entries of the audit log name the caller. */
async function identifyCaller(
  c: Context<AppEnv>,
  request?: { token?: string; named?: NamedModel | undefined },
): Promise<Caller> {
  const caller = await identify(c, authenticate, request);
  requireWithinLimits(c, caller);
  countWithToken(c, caller, "requests");
  describeRequest({ sender: senderOf(caller) });
  return caller;
}

/** Records the last use of a token in the background: a request neither waits for it nor fails with it. */
const backgroundOf =
  (c: Context<AppEnv>): TokenCheck["runInBackground"] =>
  (task) =>
    c.executionCtx.waitUntil(
      task().catch((error) =>
        logger.error("Last use of a token not recorded", { request_id: c.var.requestId, error }),
      ),
    );

function anyScope(scopes: Scope[]) {
  return (caller: Caller): void => {
    if (scopes.some((scope) => caller.scopes.includes(scope))) return;
    throw forbidden(caller, `the scope ${scopes.join(" or ")}`);
  };
}

function allScopes(scopes: Scope[]) {
  return (caller: Caller): void => {
    const missing = scopes.filter((scope) => !caller.scopes.includes(scope));
    if (missing.length === 0) return;
    throw forbidden(
      caller,
      `the scopes ${scopes.join(" and ")}: it lacks ${missing.join(" and ")}`,
    );
  };
}

const forbidden = (caller: Caller, what: string) =>
  new ProblemError(
    "forbidden",
    caller.client_id === undefined
      ? `This requires a token with ${what}. Create one ${tokensPage(caller)}.`
      : "A client token cannot do this. Your server can, with an access token.",
  );

/**
 * Returns the bearer token. Clients of the Anthropic convention may send it as a key instead, and early ones of
 * Replicate call it a `Token`.
 */
function bearer(c: Context): string {
  const scheme = isReplicateRequest(c) ? /^(?:bearer|token) +(\S+)$/i : /^bearer +(\S+)$/i;
  const [, token] = scheme.exec(c.req.header("authorization") ?? "") ?? [];
  const key = conventionOf(c) === "vendorb" ? c.req.header("x-api-key") : undefined;
  const sent = token ?? key;
  if (sent) return sent;
  throw new ProblemError(
    "unauthenticated",
    "Send an access token: 'Authorization: Bearer <ACCESS_TOKEN>'. Create one at /tokens.",
  );
}
