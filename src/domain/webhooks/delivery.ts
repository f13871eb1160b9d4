/**
 * One event on its way to one receiver, as rules.
 *
 *   pending ──begin──▶ (a try) ──settle──▶ delivered | pending, later | failed
 *
 * A try is written before it begins. One whose outcome was never heard, since the object went with
 * it, is due again after a while: it does not count as one that failed, and whoever settles it
 * after that comes too late.
 */
import type { DeliveryState } from "../../protocol/webhook.ts";
import type { Outcome } from "./outcome.ts";
import { nextDelay } from "./schedule.ts";

/** Tries of one delivery that are kept: 12 by themselves, the others by hand. */
const MAX_ATTEMPTS = 50;
const EVEN_CHANCE = 0.5;

/** One try. All null while it is under way. */
export interface Attempt {
  at: number;
  duration_ms: number | null;
  status: number | null;
  error: string | null;
}

export interface Delivery {
  /** null: the webhook of the prediction itself. */
  endpoint_id: string | null;
  state: DeliveryState;
  /** When it is due; of one whose try is under way, when that is given up for lost. */
  next_at: number;
  under_way: boolean;
  /** Ordered by hand: then no later event stands for it. */
  by_hand: boolean;
  /** Tries that have failed, and of which nothing was heard, since it was planned or ordered by hand. */
  failures: number;
  losses: number;
  attempts: Attempt[];
}

export interface Rules {
  firstRetryMs: number;
  /** After which a try of which nothing is heard is given up for lost, at first. */
  lostMs: number;
}

/** Where a try has left its delivery; `late` when it was given up for lost before. */
export type Settled = DeliveryState | "late";

const FRESH = {
  state: "pending",
  under_way: false,
  by_hand: false,
  failures: 0,
  losses: 0,
} as const satisfies Partial<Delivery>;

export const newDelivery = (endpointId: string | null, at: number): Delivery => ({
  endpoint_id: endpointId,
  ...FRESH,
  next_at: at,
  attempts: [],
});

/** Waits for its turn: it can still become something else. */
export const waits = ({ state, under_way }: Delivery): boolean => state === "pending" && !under_way;

/** @returns undefined when it is given up instead: too many tries in turn were lost */
export function beginTry(delivery: Delivery, now: number, rules: Rules): Attempt | undefined {
  if (delivery.under_way) lose(delivery);
  // Each is waited for longer than the last: one that takes its object along must not go on so.
  const longer = nextDelay(delivery.losses + 1, rules.firstRetryMs, EVEN_CHANCE);
  if (longer === undefined) {
    Object.assign(delivery, { state: "failed", under_way: false });
    return undefined;
  }
  const attempt: Attempt = { at: now, duration_ms: null, status: null, error: null };
  delivery.under_way = true;
  delivery.next_at = now + Math.ceil(Math.max(rules.lostMs, longer));
  delivery.attempts = [...delivery.attempts, attempt].slice(-MAX_ATTEMPTS);
  return attempt;
}

/** @param chance 0 to 1, for the jitter */
export function settleTry(
  delivery: Delivery,
  attempt: Attempt,
  outcome: Outcome,
  now: number,
  chance: number,
  { firstRetryMs }: Rules,
): Settled {
  if (delivery.attempts.at(-1) !== attempt || !delivery.under_way) return "late";
  delivery.under_way = false;
  if (outcome.heldBackMs !== undefined) {
    delivery.attempts.pop();
    // What was held back together does not come back together.
    delivery.next_at = now + Math.ceil(outcome.heldBackMs * (1 + chance));
    return delivery.state;
  }
  attempt.duration_ms = now - attempt.at;
  attempt.status = outcome.status;
  attempt.error = outcome.error;
  if (outcome.error === null) {
    delivery.state = "delivered";
    return delivery.state;
  }
  delivery.failures += 1;
  const delay = nextDelay(delivery.failures, firstRetryMs, chance, outcome.retryAfterMs);
  if (outcome.final || delay === undefined) delivery.state = "failed";
  else delivery.next_at = now + Math.ceil(delay);
  return delivery.state;
}

/** Once more, with all its tries; one that is under way is on its way already. */
export function orderAgain(delivery: Delivery, now: number): void {
  if (delivery.under_way) return;
  Object.assign(delivery, { ...FRESH, by_hand: true, next_at: now });
}

function lose(delivery: Delivery): void {
  delivery.losses += 1;
  const lost = delivery.attempts.at(-1);
  if (lost) lost.error = "its outcome was never heard: the service was restarted meanwhile";
}
