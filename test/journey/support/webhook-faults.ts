/** Predictions whose receivers fail in every way there is, made from a seed. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import type { WebhookEventName } from "../../../src/protocol/webhook.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { newStandardSecret } from "./webhook-signatures.ts";

/**
 * Short times, so that the twelfth try comes within the test's time, and a slow receiver is soon too slow.
 */
export const FAULT_VARIABLES = {
  WEBHOOK_ALLOW_INSECURE: "true",
  WEBHOOK_TIMEOUT_SECONDS: "1",
  WEBHOOK_RETRY_SECONDS: "0.02",
  /** The local queue is in memory: an offer that waits there is lost with each kill. */
  REDISPATCH_SECONDS: "2",
  /** A busy machine takes up to 20 s to start workerd again, and no runner may be lost in that time. */
  LEASE_SECONDS: "60",
};
const TOO_SLOW_MS = 1_500;

/** The target of a redirect, which nobody must follow. */
export const ELSEWHERE = "/elsewhere";

/**
 * The most faults of each receiver in a row: four failed tries are two seconds apart in all, the fifth and
 * sixth eleven more.
 */
const MOST_FAULTS = 3;

/** The receivers of a prediction: its own webhook, the endpoints of its account, or both. */
export type Audience = "own" | "endpoints" | "both";

export interface Ask {
  audience: Audience;
  /** True if the prediction outputs pieces for a second, false if it answers at once. */
  streams: boolean;
  secret: string | undefined;
  events: WebhookEventName[] | undefined;
  /** Faults of its own webhook before the first success. */
  faults: Behaviour[];
}

const BEHAVIOURS: Behaviour[] = [
  { status: 500, body: "oops" },
  { status: 503 },
  { status: 429, headers: { "retry-after": "1" } },
  { status: 302, headers: { location: ELSEWHERE } },
  { status: 307, headers: { location: ELSEWHERE } },
  { status: 200, afterMs: TOO_SLOW_MS },
  "silent",
  "trickle",
  "reset",
  "reset-at-headers",
  "hang-up",
  "garbage",
  "half",
  "huge-headers",
  // The following behaviours are unusual successes.
  "endless",
  "stalled",
  "short",
  "hints",
  { status: 204 },
];
const behaviour = fc.constantFrom(...BEHAVIOURS);

const ask: fc.Arbitrary<Ask> = fc.record({
  audience: fc.constantFrom<Audience>("own", "endpoints", "both"),
  streams: fc.nat(4).map((n) => n === 0),
  secret: fc
    .constantFrom("standard", "text", "none")
    .map((kind) => ({ standard: newStandardSecret(), text: newText(), none: undefined })[kind]),
  events: fc.constantFrom<WebhookEventName[] | undefined>(
    undefined,
    ["completed"],
    ["started", "output", "completed"],
    ["started"],
    ["output"],
  ),
  faults: fc.array(behaviour, { maxLength: MOST_FAULTS - 1 }),
});

/** Returns a random text, for a secret or a key in an address. */
export const newText = () => randomBytes(16).toString("hex");

/** Returns `count` predictions to create. Each kind of fault is the first one of some of them. */
export const asksOf = (seed: number, count: number): Ask[] =>
  fc.sample(ask, { seed, numRuns: count }).map((one, n) => ({
    ...one,
    faults: [...BEHAVIOURS.slice(n % BEHAVIOURS.length).slice(0, 1), ...one.faults],
  }));

/**
 * Returns the faults of an endpoint, which fails one try in three, so an event of each prediction soon
 * arrives.
 */
export const faultsOf = (seed: number, count: number): Behaviour[] =>
  fc.sample(fc.oneof({ weight: 1, arbitrary: behaviour }, { weight: 2, arbitrary: OK }), {
    seed,
    numRuns: count,
  });

const OK = fc.constant<Behaviour>({ status: 200 });

/**
 * Returns the kills of the control plane: after how many requests to a receiver, and how many ms later. Each
 * is in one of `count` equal stretches, so that something can be done between two kills.
 */
export const killsOf = (seed: number, count: number, last: number) =>
  fc
    .sample(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), ms: fc.nat(40) }), {
      seed,
      numRuns: count,
    })
    .map(({ at, ms }, n) => ({ after: Math.ceil(((n + at) * last) / count), ms }));
