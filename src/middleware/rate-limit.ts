/** Rate limits: how often an address, a token or an account may ask (numbers in wrangler.toml). */
import type { Context } from "hono";
import { ProblemError } from "../errors.ts";
import type { App } from "../routes/context.ts";

/** As the bindings have it, s. */
const PERIOD_SECONDS = 10;

const LIMITS = {
  address: ["RATE_LIMIT_ADDRESS", "requests without a valid token from this address: send a token"],
  token: ["RATE_LIMIT_TOKEN", "requests with this token"],
  predictions: ["RATE_LIMIT_PREDICTIONS", "predictions and deliveries asked for by this account"],
} as const;

/**
 * Counts a request.
 * @param key whose it is, within its class
 * @throws ProblemError too_many_requests
 */
export async function limitRate(c: Context<App>, by: keyof typeof LIMITS, key: string) {
  if (!c.var.services.settings.rateLimits) return;
  const [binding, what] = LIMITS[by];
  const { success } = await c.env[binding].limit({ key });
  if (success) return;
  throw new ProblemError(
    "too_many_requests",
    `Too many ${what}. Wait ${PERIOD_SECONDS} seconds, then ask less often.`,
    { "retry-after": String(PERIOD_SECONDS) },
  );
}

/** Counts a request of nobody in particular. @throws ProblemError too_many_requests */
export const limitAddress = (c: Context<App>) =>
  limitRate(c, "address", networkOf(c.req.header("cf-connecting-ip") ?? ""));

/** An IPv6 address is one of 2^64 that its owner may use: what counts is the /64. */
function networkOf(address: string): string {
  if (!address.includes(":")) return address;
  const [before = "", after] = address.split("::");
  const head = before.split(":");
  const tail = after?.split(":") ?? [];
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}
