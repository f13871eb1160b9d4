/** Rate limits: how often an address, a token or an account may ask (numbers in wrangler.toml). */
import { ProblemError } from "../errors.ts";
import type { Services } from "../services/services.ts";

/** The bindings, and their periods in s. */
const LIMITS = {
  address: [
    "RATE_LIMIT_ADDRESS",
    10,
    "requests without a valid token from this address: send a token",
  ],
  token: ["RATE_LIMIT_TOKEN", 10, "requests with this token"],
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
  var: { services: Services };
}

/**
 * Counts a request.
 * @param key whose it is, within its class
 * @throws ProblemError too_many_requests
 */
export async function limitRate(
  { var: { services } }: Asked,
  by: keyof typeof LIMITS,
  key: string,
): Promise<void> {
  if (!services.settings.rateLimits) return;
  const [binding, seconds, what] = LIMITS[by];
  const { success } = await services.env[binding].limit({ key });
  if (success) return;
  throw new ProblemError(
    "too_many_requests",
    `Too many ${what}. Wait ${seconds} seconds, then ask less often.`,
    { "retry-after": String(seconds) },
  );
}

/** Counts a request of nobody in particular. @throws ProblemError too_many_requests */
export const limitAddress = (c: Asked) => limitRate(c, "address", networkOf(c));

/** Counts an attempt to get in, of anybody. @throws ProblemError too_many_requests */
export const limitSignIn = (c: Asked) => limitRate(c, "sign_in", networkOf(c));

/** An IPv6 address is one of 2^64 that its owner may use: what counts is the /64. */
function networkOf({ req }: Asked): string {
  const address = req.header("cf-connecting-ip") ?? "";
  if (!address.includes(":")) return address;
  const [before = "", after] = address.split("::");
  const head = before.split(":");
  const tail = after?.split(":") ?? [];
  const zeros = Array<string>(Math.max(0, 8 - head.length - tail.length)).fill("0");
  return [...head, ...zeros, ...tail].slice(0, 4).join(":");
}
