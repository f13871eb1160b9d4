/** Whether an endpoint of an account works, by what becomes of the tries to deliver to it. */
import type { Outcome } from "./outcome.ts";

export interface Health {
  enabled: boolean;
  /** When the first of the tries began that have all failed since, unix ms. */
  failing_since: number | null;
  last_error: string | null;
  /** Why the service has switched it off, and what to do. */
  notice: string | null;
}

/** A request that was made, or that its address did not allow. */
export interface Try {
  outcome: Outcome;
  /** No other try of this delivery follows. */
  givenUp: boolean;
  /** When it began, unix ms. */
  at: number;
  /** After how long without a success an endpoint is switched off, ms. */
  switchOffMs: number;
}

/**
 * Of failures only those count that begin a time of failing, end a delivery, or end the endpoint:
 * ten thousand of the others change nothing.
 * @returns undefined when it stays as it is
 */
export function healthAfter(health: Health, one: Try): Health | undefined {
  const { outcome, givenUp, at } = one;
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
  if (givenUp && at - failing.failing_since >= one.switchOffMs) {
    const notice = failedNotice(at, failing.failing_since, outcome.error);
    return { ...failing, enabled: false, notice };
  }
  const isNews = health.failing_since === null || (givenUp && outcome.error !== health.last_error);
  return isNews ? failing : undefined;
}

const day = (ms: number) => new Date(ms).toISOString().slice(0, 10);

const goneNotice = (at: number) =>
  `Switched off on ${day(at)}: the receiver answered with status 410, which says that it is gone for good. If it is not, switch it on again with PATCH {"enabled": true}; else delete it.`;

const failedNotice = (at: number, since: number, error: string) =>
  `Switched off on ${day(at)}: no delivery has arrived since ${day(since)}, and the last one failed with: ${error}. When the receiver works, switch it on again with PATCH {"enabled": true}.`;
