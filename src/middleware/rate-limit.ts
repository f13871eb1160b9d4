/** Rate limits: how often an address, a token or an account may ask (numbers in wrangler.toml). */
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../context.ts";
import {
  nearerLimit,
  type RateStatus,
  RequestCounter,
  rateHeaders,
} from "../domain/accounts/rate-limit.ts";
import { isVendoraRequest, ProblemError } from "../errors.ts";
import type { Services } from "../services/services.ts";

/** The bindings, and their periods in s. */
const LIMITS = {
  address: [
    "RATE_LIMIT_ADDRESS",
    10,
    "requests without a valid token from this address: send a token",
  ],
  token: ["RATE_LIMIT_TOKEN", 10, "requests with this token"],
  user: ["RATE_LIMIT_USER", 10, "requests by this account, with all its tokens together"],
  writes: ["RATE_LIMIT_WRITES", 10, "changes by this account"],
  predictions: [
    "RATE_LIMIT_PREDICTIONS",
    10,
    "predictions and deliveries asked for by this account",
  ],
  sign_in: ["RATE_LIMIT_SIGN_IN", 60, "attempts to get in"],
  account: ["RATE_LIMIT_ACCOUNT", 60, "attempts to get in"],
} as const;

/** What is asked of a request here: those of the API have it, and those of the dashboard. */
interface Asked {
  req: { header(name: string): string | undefined };
  var: { services: Services; rate: RateStatus | undefined };
  set(name: "rate", rate: RateStatus | undefined): void;
}

const counts = new RequestCounter();

/**
 * Counts a request.
 * @param key whose it is, within its class
 * @throws ProblemError too_many_requests
 */
export async function limitRate(c: Asked, by: keyof typeof LIMITS, key: string): Promise<void> {
  const { env, settings } = c.var.services;
  if (!settings.rateLimits) return;
  const [binding, seconds, what] = LIMITS[by];
  const { success } = await env[binding].limit({ key });
  const limit = settings.rateNumbers[by];
  if (limit !== undefined) {
    // The binding tells only whether there is room: how much is what this isolate has seen itself.
    const seen = counts.count(`${by} ${key}`, { limit, seconds }, Date.now());
    c.set(
      "rate",
      nearerLimit(c.var.rate, success ? seen : { limit, remaining: 0, reset: seconds }),
    );
  }
  if (success) return;
  throw new ProblemError(
    "too_many_requests",
    `Too many ${what}. Wait ${seconds} seconds, then ask less often.`,
    { "retry-after": String(seconds) },
  );
}

/** For all routes: says of the limit that a request has come nearest to how much of it is left. */
export const rateLimitHeaders = createMiddleware<AppEnv>(async (c, next) => {
  await next();
  const { rate } = c.var;
  if (!rate) return;
  for (const [name, value] of Object.entries(rateHeaders(rate, isVendoraRequest(c)))) {
    c.header(name, value);
  }
});

/** Counts a request of nobody in particular. @throws ProblemError too_many_requests */
export const limitAddress = (c: Asked) => limitRate(c, "address", clientNetwork(c));

/** Counts an attempt to get in, of anybody. @throws ProblemError too_many_requests */
export const limitSignIn = (c: Asked) => limitRate(c, "sign_in", clientNetwork(c));

/** An IPv6 address is one of 2^64 that its owner may use: what counts is the /64. */
export function clientNetwork({ req }: Pick<Asked, "req">): string {
  const address = req.header("cf-connecting-ip") ?? "";
  if (!address.includes(":")) return address;
  const [before = "", after] = address.split("::");
  const head = before.split(":");
  const tail = after?.split(":") ?? [];
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}
