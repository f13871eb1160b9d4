/** Predictions whose receivers fail in every way there is, made from a seed. */
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect } from "vitest";
import type { TaskStatus } from "../../../src/protocol/prediction.ts";
import type { WebhookEventName } from "../../../src/protocol/webhook.ts";
import {
  WEBHOOK_HEADERS,
  type WebhookPayload,
  webhookPayload,
} from "../../../src/protocol/webhook-payload.ts";
import type { Behaviour, Received } from "../../receiver/exchange.ts";
import { newStandardSecret } from "./webhook-signatures.ts";

const RANK: Record<TaskStatus, number> = {
  pending: 0,
  started: 1,
  succeeded: 2,
  failed: 2,
  canceled: 2,
};

export const eventIdOf = ({ headers }: Received) => headers[WEBHOOK_HEADERS.id] ?? "";

/**
 * Returns the events of one prediction, each once, in the order of their sequence numbers. Checks that order.
 */
export function historyOf(received: Received[]): WebhookPayload[] {
  const byId = Map.groupBy(received.filter(isRead), eventIdOf);
  const events = [...byId].map(([id, repeats]) => {
    const [body = "", ...others] = new Set(repeats.map((one) => one.body));
    expect(others, `${id} has several bodies`).toEqual([]);
    const payload = webhookPayload.parse(JSON.parse(body));
    expect(payload.webhook.id).toBe(id);
    expect(id).toBe(`evt_${payload.id}_${payload.webhook.sequence}`);
    return payload;
  });
  events.sort((a, b) => a.webhook.sequence - b.webhook.sequence);
  for (const [n, next] of events.slice(1).entries()) {
    const before = events[n];
    if (before) expectFollows(before, next);
  }
  return events;
}

/** Whether the body was read: it is empty if the connection was reset after its headers. */
export const isRead = ({ body }: Received) => body !== "";

/** Checks that no status goes back, and that no output is taken back. */
function expectFollows(before: WebhookPayload, next: WebhookPayload): void {
  expect(next.webhook.sequence).toBeGreaterThan(before.webhook.sequence);
  expect(RANK[next.status]).toBeGreaterThanOrEqual(RANK[before.status]);
  if (Array.isArray(before.output)) {
    expect(Array.isArray(next.output) && next.output.slice(0, before.output.length)).toEqual(
      before.output,
    );
  } else if (before.output !== null) expect(next.output).toEqual(before.output);
}

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
type Audience = "own" | "endpoints" | "both";

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
