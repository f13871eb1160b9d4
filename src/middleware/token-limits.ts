/** Enforces the limits of access tokens (protocol/token-limits.ts). */
import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { AppEnv } from "../context.ts";
import { nearerLimit, RequestCounter } from "../domain/accounts/rate-limit.ts";
import { outsideLimits } from "../domain/accounts/token-limits.ts";
import { ProblemError } from "../errors/errors.ts";
import { type Caller, tokensPage } from "../services/access/access.ts";

const counter = new RequestCounter();

/** @throws ProblemError forbidden */
export function requireWithinLimits(c: Context<AppEnv>, caller: Caller): void {
  if (!caller.limits) return;
  const outside = outsideLimits(caller.limits, {
    route: matchedRoutes(c).at(-1)?.path ?? "",
    origin: c.req.header("origin"),
    address: c.req.header("cf-connecting-ip"),
  });
  if (!outside) return;
  throw new ProblemError(
    "forbidden",
    caller.client_id === undefined
      ? refusal(caller, outside)
      : `This client token ${outside}. Your server names the web pages of a client token when it issues one, and calls all other endpoints itself.`,
  );
}

/**
 * Counts a request against a limit per minute of its token. Isolates count apart, in memory: the count costs
 * nothing, and the limit is approximate.
 * @throws ProblemError too_many_requests
 */
export function countWithToken(
  c: Context<AppEnv>,
  caller: Caller,
  what: "requests" | "predictions",
): void {
  const limit = caller.limits?.[`${what}_per_minute`];
  if (limit === undefined) return;
  const most = { limit: limit + 1, seconds: 60 };
  const { remaining, reset } = counter.count(`${what} ${caller.token_id}`, most, Date.now());
  c.set("rate", nearerLimit(c.var.rate, { limit, remaining: Math.max(0, remaining - 1), reset }));
  if (remaining > 0) return;
  const text = refusal(caller, `is limited to ${limit} ${what} per minute. Wait ${reset} seconds`);
  throw new ProblemError("too_many_requests", text, { "retry-after": String(reset) });
}

function refusal(caller: Caller, why: string): string {
  const kind = caller.client_id === undefined ? "The token" : "A client token of";
  return `${kind} '${caller.token_name ?? ""}' ${why}. Whoever manages the token can change its limits ${tokensPage(caller)}.`;
}
