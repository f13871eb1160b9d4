/** The remaining requests of a rate limit, estimated by one isolate. */
import { LRUCache } from "lru-cache";
import type { Convention } from "../openai/call.ts";

export interface RateStatus {
  limit: number;
  /** Upper bound of the remaining requests: other isolates count as well. */
  remaining: number;
  reset: number;
}

/** The most recent keys; evicted ones start over, which overestimates what remains. */
const MAX_KEYS = 10_000;

/** Counts requests by key, in periods aligned to the clock. */
export class RequestCounter {
  readonly #counts = new LRUCache<string, { period: number; count: number }>({ max: MAX_KEYS });

  count(
    key: string,
    { limit, seconds }: { limit: number; seconds: number },
    now: number,
  ): RateStatus {
    const ms = seconds * 1000;
    const period = Math.floor(now / ms);
    const known = this.#counts.get(key);
    const count = known?.period === period ? known.count + 1 : 1;
    this.#counts.set(key, { period, count });
    const reset = Math.ceil(((period + 1) * ms - now) / 1000);
    return { limit, remaining: Math.max(0, limit - count), reset };
  }
}

export const nearerLimit = (one: RateStatus | undefined, other: RateStatus): RateStatus =>
  one && one.remaining <= other.remaining ? one : other;

/** @param convention whose clients read other names @param now Unix ms */
export function rateHeaders(
  { limit, remaining, reset }: RateStatus,
  convention: Convention | undefined,
  now: number,
): Record<string, string> {
  switch (convention) {
    case "vendora":
      return {
        "x-ratelimit-limit-requests": String(limit),
        "x-ratelimit-remaining-requests": String(remaining),
        "x-ratelimit-reset-requests": durationText(reset),
      };
    case "vendorb":
      return {
        "anthropic-ratelimit-requests-limit": String(limit),
        "anthropic-ratelimit-requests-remaining": String(remaining),
        "anthropic-ratelimit-requests-reset": new Date(now + reset * 1_000).toISOString(),
      };
    default:
      return {
        "x-ratelimit-limit": String(limit),
        "x-ratelimit-remaining": String(remaining),
        "x-ratelimit-reset": String(Math.floor(now / 1_000) + reset),
      };
  }
}

/** Returns a duration as OpenAI writes it: `12s`, `1m0s`. */
const durationText = (seconds: number): string =>
  seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${seconds % 60}s`;
