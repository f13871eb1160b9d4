/** The health of an account's webhook endpoint, from the outcomes of its deliveries. */
import type { Outcome } from "./delivery.ts";

export interface Health {
  enabled: boolean;
  /** When the first of the failed tries since the last success began, Unix ms. */
  failing_since: number | null;
  last_error: string | null;
  /** Why the service switched the endpoint off, and what to do about it. */
  notice: string | null;
}

/** A finished try; it may have been refused for its URL. */
export interface Try {
  outcome: Outcome;
  /** Whether no further try of this delivery follows. */
  isLast: boolean;
  at: number;
  /** The time without a success after which an endpoint is switched off. */
  switchOffMs: number;
}

/**
 * Returns the health after a try. Most failures change nothing: only the first one, one that ends a delivery
 * and one that switches the endpoint off do.
 * @returns undefined when it is unchanged
 */
export function healthAfter(health: Health, one: Try): Health | undefined {
  const { outcome, isLast, at } = one;
  if (!health.enabled) return undefined;
  if (outcome.error === null) {
    const recovers = health.failing_since !== null && health.failing_since < at;
    return recovers ? { ...health, failing_since: null, last_error: null } : undefined;
  }
  const failing = {
    ...health,
    failing_since: health.failing_since ?? at,
    last_error: outcome.error,
  };
  if (outcome.final) return { ...failing, enabled: false, notice: goneNotice(at) };
  if (isLast && at - failing.failing_since >= one.switchOffMs) {
    const notice = failedNotice(at, failing.failing_since, outcome.error);
    return { ...failing, enabled: false, notice };
  }
  const isChange = health.failing_since === null || (isLast && outcome.error !== health.last_error);
  return isChange ? failing : undefined;
}

const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const goneNotice = (at: number) =>
  `Disabled on ${day(at)} because the receiver responded with status 410 (Gone). Enable it with PATCH {"enabled": true}, or delete it.`;

const failedNotice = (at: number, since: number, error: string) =>
  `Disabled on ${day(at)} because every delivery since ${day(since)} failed. Last error: ${error}. Fix the receiver, then enable the endpoint with PATCH {"enabled": true}.`;
