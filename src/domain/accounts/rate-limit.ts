/** What is left of a rate limit, as far as one isolate can tell. */
import { LRUCache } from "lru-cache";

export interface RateStatus {
  /** How many requests a period has room for. */
  limit: number;
  /** How many are left: at most, for other isolates count too. */
  remaining: number;
  /** Until the period ends, s. */
  reset: number;
}

/** Who has asked last: whoever is forgotten begins anew, and is told of more than there is. */
const MAX_KEYS = 10_000;

/** Counts by key, in periods of the wall clock. */
export class RequestCounter {
  readonly #counts = new LRUCache<string, { period: number; count: number }>({ max: MAX_KEYS });

  /** @returns what is left after this request */
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

/** Of two limits the one that is reached first. */
export const nearerLimit = (one: RateStatus | undefined, other: RateStatus): RateStatus =>
  one && one.remaining <= other.remaining ? one : other;

/** @param vendora clients of that convention look for names of their own, too */
export function rateHeaders(
  { limit, remaining, reset }: RateStatus,
  vendora: boolean,
): Record<string, string> {
  const headers = {
    "x-ratelimit-limit": String(limit),
    "x-ratelimit-remaining": String(remaining),
    "x-ratelimit-reset": String(reset),
  };
  if (!vendora) return headers;
  return {
    ...headers,
    "x-ratelimit-limit-requests": String(limit),
    "x-ratelimit-remaining-requests": String(remaining),
    "x-ratelimit-reset-requests": `${reset}s`,
  };
}
