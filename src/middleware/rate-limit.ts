/** Rate limits per IP address, token and account (numbers in wrangler.toml). */
import { nearerLimit, type RateStatus, RequestCounter } from "../domain/accounts/rate-limit.ts";
import type { WriteCost } from "../domain/accounts/write-bucket.ts";
import { ProblemError } from "../errors/errors.ts";
import { withinWriteLimit } from "../services/access/write-limit.ts";
import type { Services } from "../services/services.ts";

/** The limits: binding, period in seconds, and what is counted. */
const LIMITS = {
  address: [
    "RATE_LIMIT_ADDRESS",
    10,
    "requests without a valid token from this IP address: send a token",
  ],
  token: ["RATE_LIMIT_TOKEN", 10, "requests with this token"],
  file: ["RATE_LIMIT_USER", 10, "requests for this file, from all addresses"],
  user: ["RATE_LIMIT_USER", 10, "requests by this account, across all its tokens"],
  writes: ["RATE_LIMIT_WRITES", 10, "changes by this account"],
  predictions: [
    "RATE_LIMIT_PREDICTIONS",
    10,
    "predictions and webhook redeliveries by this account",
  ],
  registry: ["RATE_LIMIT_REGISTRY", 10, "requests to the image registry by this account"],
  sign_in: ["RATE_LIMIT_SIGN_IN", 60, "login attempts"],
  account: ["RATE_LIMIT_ACCOUNT", 60, "login attempts"],
} as const;

/** The part of a request context that the API and the dashboard share. */
export interface LimitedContext {
  req: { header(name: string): string | undefined };
  var: { services: Services; rate: RateStatus | undefined };
  set(name: "rate", rate: RateStatus | undefined): void;
}

const counter = new RequestCounter();

/**
 * Counts a request against a limit.
 * @param key the address, token or account
 * @throws ProblemError too_many_requests
 */
export async function limitRate(
  c: LimitedContext,
  name: keyof typeof LIMITS,
  key: string,
): Promise<void> {
  const { env, settings } = c.var.services;
  if (!settings.rateLimits) return;
  const [binding, seconds, what] = LIMITS[name];
  const { success } = await env[binding].limit({ key });
  const limit = settings.rateNumbers[name];
  if (limit !== undefined) {
    // The binding reports only whether the limit is reached; the rest is counted in this isolate.
    const seen = counter.count(`${name} ${key}`, { limit, seconds }, Date.now());
    c.set(
      "rate",
      nearerLimit(c.var.rate, success ? seen : { limit, remaining: 0, reset: seconds }),
    );
  }
  if (success) return;
  throw new ProblemError(
    "too_many_requests",
    `Too many ${what}. Wait ${seconds} seconds, then send requests less often.`,
    { "retry-after": String(seconds) },
  );
}

/** Counts a request without a valid token. @throws ProblemError too_many_requests */
export const limitAddress = (c: LimitedContext) => limitRate(c, "address", clientNetwork(c));

/** Counts an attempt to log in. @throws ProblemError too_many_requests */
export const limitSignIn = (c: LimitedContext) => limitRate(c, "sign_in", clientNetwork(c));

/** Returns the IPv4 address, or the /64 of an IPv6 address: one client can use all 2^64 addresses of it. */
export function clientNetwork({ req }: Pick<LimitedContext, "req">): string {
  const address = req.header("cf-connecting-ip") ?? "";
  if (!address.includes(":")) return address;
  const [before = "", after] = address.split("::");
  const head = before.split(":");
  const tail = after?.split(":") ?? [];
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}

/** The part of a request context that the API and the dashboard share. */
interface MeteredContext {
  var: { services: Services };
  set(name: "services", services: Services): void;
}

/** @param cost the most that the request writes @throws ProblemError too_many_requests */
export const meterWrites = (
  c: MeteredContext,
  userId: string,
  cost: WriteCost,
  next: () => Promise<void>,
): Promise<void> =>
  withinWriteLimit(c.var.services, userId, cost, async (services) => {
    c.set("services", services);
    await next();
  });

/**
 * Returns the length of the request's body, if the header has it: further bytes are charged as they arrive.
 */
export const lengthOf = (header: string | undefined): number => Number(header ?? 0) || 0;
