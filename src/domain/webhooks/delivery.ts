/**
 * The delivery of one event to one receiver, as rules.
 *
 *   pending ──begin──▶ (a try) ──settle──▶ delivered | pending, later | failed
 *
 * A try is written before it begins. If its outcome is lost, because the object was restarted, the
 * delivery is due again after a while. A lost try does not count as failed, and an outcome that
 * arrives after that is ignored.
 */
import type { DeliveryState } from "../../protocol/webhook.ts";

/** Tries of one delivery that stay listed: 12 are automatic, the others requested. */
const MAX_ATTEMPTS = 50;
const EVEN_CHANCE = 0.5;

/** The latest tries whose responses are kept. */
const KEPT_RESPONSES = 3;

/** One try. Its fields are null while it is under way. */
export interface Attempt {
  at: number;
  duration_ms: number | null;
  status: number | null;
  error: string | null;
  /** The beginning of the receiver's response, of the latest tries. */
  response: string | null;
}

export interface Delivery {
  /** The receiver. Null: the webhook of the prediction itself. */
  endpoint_id: string | null;
  state: DeliveryState;
  /** When the delivery is due; while a try is under way, when that counts as lost. */
  next_at: number;
  under_way: boolean;
  /** Whether a user has requested the delivery: then no later event supersedes it. */
  by_hand: boolean;
  /** Failed and lost tries since the delivery was planned or requested. */
  failures: number;
  losses: number;
  attempts: Attempt[];
}

export interface Rules {
  firstRetryMs: number;
  /** When the first try without an outcome counts as lost; for later ones the time is longer. */
  lostMs: number;
}

/** The state of the delivery after a try; `late` when the try already counted as lost. */
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

export const isWaiting = ({ state, under_way }: Delivery): boolean =>
  state === "pending" && !under_way;

/** @returns undefined when the delivery fails instead: too many tries in a row were lost */
export function beginTry(delivery: Delivery, now: number, rules: Rules): Attempt | undefined {
  if (delivery.under_way) lose(delivery);
  // A try counts as lost later each time, so that one that crashes its object does not do so all the time.
  const backoffMs = nextDelay(delivery.losses + 1, rules.firstRetryMs, EVEN_CHANCE);
  if (backoffMs === undefined) {
    Object.assign(delivery, { state: "failed", under_way: false });
    return undefined;
  }
  const attempt: Attempt = {
    at: now,
    duration_ms: null,
    status: null,
    error: null,
    response: null,
  };
  delivery.under_way = true;
  delivery.next_at = now + Math.ceil(Math.max(rules.lostMs, backoffMs));
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
  if (outcome.throttledMs !== undefined) {
    delivery.attempts.pop();
    // The time is jittered: deliveries that were throttled together must not come back together.
    delivery.next_at = now + Math.ceil(outcome.throttledMs * (1 + chance));
    return delivery.state;
  }
  attempt.duration_ms = now - attempt.at;
  attempt.status = outcome.status;
  attempt.error = outcome.error;
  attempt.response = outcome.response ?? null;
  for (const older of delivery.attempts.slice(0, -KEPT_RESPONSES)) older.response = null;
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

/** Resets the delivery to have all its tries, unless one is under way. */
export function resetDelivery(delivery: Delivery, now: number): void {
  if (delivery.under_way) return;
  Object.assign(delivery, { ...FRESH, by_hand: true, next_at: now });
}

/** Removes the receiver's responses, which may repeat what was sent. @returns whether any */
export function forgetResponses({ attempts }: Delivery): boolean {
  const quoted = attempts.filter(({ response }) => response !== null);
  for (const attempt of quoted) attempt.response = null;
  return quoted.length > 0;
}

function lose(delivery: Delivery): void {
  delivery.losses += 1;
  const lost = delivery.attempts.at(-1);
  if (lost) lost.error = "the service restarted before it received a response";
}

export interface Outcome {
  /** The status of the response; null when there was none. */
  status: number | null;
  /** Why the try failed; null when it was delivered. Never contains a secret or a URL's query. */
  error: string | null;
  response?: string;
  retryAfterMs?: number;
  /** When to try again after the rate limit of the host: neither a try nor a failure. */
  throttledMs?: number;
  /** Whether no further try is made: the receiver is gone permanently. */
  final?: boolean;
}

/** The schedule of further tries after a failed delivery. */

/**
 * The times between tries, in multiples of the first: with 5 s they are 5 s, 30 s, 2 min, 5 min,
 * 15 min, 30 min, 1 h, 2 h, 4 h, 8 h and 8 h: 12 tries in 24 h.
 */
const STEPS = [1, 6, 24, 60, 180, 360, 720, 1_440, 2_880, 5_760, 5_760];

/** The longest delay that a receiver's Retry-After can request. */
const MAX_STEP = Math.max(...STEPS);

/** The jitter of delays, times 0.8 to 1.2: what failed together must not be tried together. */
const JITTER = 0.2;

/**
 * Returns how long to wait after this many failed tries, ms; undefined when no further try follows.
 * @param chance 0 to 1
 * @param retryAfterMs requested by the receiver
 */
export function nextDelay(
  tries: number,
  firstMs: number,
  chance: number,
  retryAfterMs = 0,
): number | undefined {
  const step = STEPS[tries - 1];
  if (step === undefined) return undefined;
  const delay = step * firstMs * (1 + JITTER * (2 * chance - 1));
  return Math.max(delay, Math.min(retryAfterMs, MAX_STEP * firstMs));
}

/**
 * @param header seconds, or an HTTP date
 * @param now Unix ms
 * @returns ms, without a maximum; undefined when it is missing or invalid
 */
export function retryAfterMs(header: string | null, now: number): number | undefined {
  if (!header) return undefined;
  const ms = /^\d{1,9}$/.test(header) ? Number(header) * 1_000 : Date.parse(header) - now;
  return ms > 0 ? ms : undefined;
}
