/** Predictions whose receivers fail in every way there is, made from a seed. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import type { WebhookEventName } from "../../../src/protocol/webhook.ts";
import type { Behaviour } from "../../receiver/exchange.ts";
import { newStandardSecret } from "./webhook-signatures.ts";

/** Short, so that the twelfth try comes within the test's time, and what is slow is soon too slow. */
export const FAULT_VARIABLES = {
  WEBHOOK_ALLOW_INSECURE: "true",
  WEBHOOK_TIMEOUT_SECONDS: "1",
  WEBHOOK_RETRY_SECONDS: "0.02",
  /** The local queue is memory: an offer that waits there is lost with each kill. */
  REDISPATCH_SECONDS: "2",
  /** A busy machine takes up to 20 s to start workerd again, and no runner may be lost in that time. */
  LEASE_SECONDS: "60",
};
const TOO_SLOW_MS = 1_500;

/** Where a redirect leads, which nobody must follow. */
export const ELSEWHERE = "/elsewhere";

/** Of each receiver: four tries in a row that fail are two seconds apart in all, the fifth and sixth eleven more. */
const MOST_FAULTS = 3;

/** Whom a prediction tells: its own webhook, the endpoints of its account, or both. */
export type Audience = "own" | "endpoints" | "both";

export interface Ask {
  audience: Audience;
  /** Puts out something for a second, or answers at once. */
  streams: boolean;
  secret: string | undefined;
  events: WebhookEventName[] | undefined;
  /** What the requests to its own webhook meet before the first success. */
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
  // Successes, of an unusual kind.
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

/** A secret that is any text, and a key in an address. */
export const newText = () => randomBytes(16).toString("hex");

/** Each way to fail is the first of some. */
export const asksOf = (seed: number, count: number): Ask[] =>
  fc.sample(ask, { seed, numRuns: count }).map((one, n) => ({
    ...one,
    faults: [...BEHAVIOURS.slice(n % BEHAVIOURS.length).slice(0, 1), ...one.faults],
  }));

/** Of an endpoint, which has one try in three fail: of each prediction's events soon one arrives. */
export const faultsOf = (seed: number, count: number): Behaviour[] =>
  fc.sample(fc.oneof({ weight: 1, arbitrary: behaviour }, { weight: 2, arbitrary: OK }), {
    seed,
    numRuns: count,
  });

const OK = fc.constant<Behaviour>({ status: 200 });

/**
 * When the control plane is killed: after so many requests to a receiver, and so long, ms. Once in
 * each of as many equal stretches, so that between two kills something can be done.
 */
export const killsOf = (seed: number, count: number, last: number) =>
  fc
    .sample(fc.record({ at: fc.double({ min: 0, max: 1, noNaN: true }), ms: fc.nat(40) }), {
      seed,
      numRuns: count,
    })
    .map(({ at, ms }, n) => ({ after: Math.ceil(((n + at) * last) / count), ms }));
