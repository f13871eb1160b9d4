/** What a seed has callers ask for, and when: the same seed gives the same calls. */
import fc from "fast-check";
import type { Behaviour } from "../../receiver/exchange.ts";
import { between, onceIn, samples, share } from "./seeded.ts";

/** What is asked for. Each has its mark in its input, so that the prediction is found by it. */
export type Work =
  /** Created with `Prefer: wait`, some with `cancel`, or without and polled; those come in batches. */
  | { kind: "hello"; wait: number }
  | { kind: "sums"; wait: number; cancels: boolean; seconds: number; numbers: number[] }
  /** Created with `stream`, and read by one who leaves and resumes. */
  | { kind: "stream"; tokens: number; every: number; text: number }
  | { kind: "chat"; streamed: boolean; words: number; every: number; leaves: boolean }
  /** A response: most are in the background, and read like a stream. */
  | { kind: "response"; background: boolean; words: number; every: number }
  | { kind: "embedding" }
  /** A picture in, a picture out. */
  | { kind: "picture"; uploaded: boolean; colours: number }
  /** An output, and sometimes an input, that R2 holds. */
  | { kind: "large"; letters: number; padding: number }
  /** An upload that nobody completes. */
  | { kind: "abandoned"; bytes: number };

export interface ReaderPlan {
  /** After the prediction was accepted, ms. */
  joinsAfter: number;
  /** It leaves after so many events of each connection. */
  stays: number[];
  /** And comes back later, ms. */
  away: number;
  /** It resumes with Last-Event-ID, as an EventSource does. */
  isEventSource: boolean;
}

export interface WebhookPlan {
  secret: "standard" | "text";
  output: boolean;
  /** What deliveries meet before the first success. */
  faults: Behaviour[];
}

export interface Call {
  n: number;
  /** Since the storm began, ms. */
  at: number;
  /** In its input. */
  mark: string;
  account: "ada" | "bob";
  /** Through the cable that breaks, too; otherwise only what is behind it does. */
  overCable: boolean;
  /** In a container, where Docker takes part and there is an image of the model. */
  boxed: boolean;
  work: Work;
  /** With an Idempotency-Key, sent so many times at once; otherwise once. */
  parallel: number | undefined;
  webhook: WebhookPlan | undefined;
  /** After it was accepted, ms. */
  cancelAfter: number | undefined;
  /** Besides whoever created it. */
  readers: ReaderPlan[];
}

/** Calls that are only polled begin together, so often, ms. */
const BATCH_MS = 5_000;
/** No call begins later, so that there is time for faults to meet it. */
const LAST = 0.95;

const wait = fc.constantFrom(0, 0, 5, 20);

const works = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("hello" as const), wait }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("sums" as const),
      wait: fc.constantFrom(0, 1, 5, 20),
      cancels: fc.boolean(),
      seconds: between(0, 6),
      numbers: fc.array(between(-9, 9), { minLength: 1, maxLength: 5 }),
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant("stream" as const),
      tokens: between(5, 120),
      every: fc.constantFrom(0, 10, 40, 90),
      text: between(0, 3),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("chat" as const),
      streamed: fc.boolean(),
      words: between(1, 60),
      every: fc.constantFrom(0, 20, 60),
      leaves: fc.constantFrom(true, false, false, false),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("response" as const),
      background: fc.constantFrom(true, true, false),
      words: between(1, 80),
      every: fc.constantFrom(0, 20, 60),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("picture" as const),
      uploaded: fc.boolean(),
      colours: between(0, 2),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant("large" as const),
      letters: between(100_000, 1_500_000),
      padding: fc.constantFrom(0, 0, 1_400_000),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("embedding" as const) }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constant("abandoned" as const), bytes: between(1, 100_000) }),
  },
);

const reader: fc.Arbitrary<ReaderPlan> = fc.record({
  joinsAfter: between(0, 4_000),
  stays: fc.array(between(0, 30), { maxLength: 4 }),
  away: fc.constantFrom(0, 50, 500, 2_000),
  isEventSource: fc.boolean(),
});

/** What a delivery meets instead of a success. */
export const receiverFault: fc.Arbitrary<Behaviour> = fc.constantFrom<Behaviour[]>(
  { status: 500 },
  { status: 503 },
  { status: 200, afterMs: 3_000 },
  "reset",
  "reset-at-headers",
  "hang-up",
  "garbage",
  "silent",
);

const webhook: fc.Arbitrary<WebhookPlan> = fc.record({
  secret: fc.constantFrom("standard", "text"),
  output: fc.boolean(),
  faults: fc.array(receiverFault, { maxLength: 2 }),
});

const calls = fc.record({
  share,
  account: fc.constantFrom<Call["account"][]>("ada", "ada", "bob"),
  overCable: fc.boolean(),
  boxed: fc.constantFrom(true, false, false, false),
  work: works,
  parallel: fc.constantFrom(undefined, undefined, 1, 2, 4),
  webhook: onceIn(3, webhook),
  cancelAfter: onceIn(8, between(0, 3_000)),
  readers: onceIn(3, fc.array(reader, { minLength: 1, maxLength: 2 })),
});

/** In the order in which they begin. @param duration of the storm, ms */
export function callsOf(seed: number, count: number, duration: number): Call[] {
  return samples(calls, seed, count)
    .map(({ share, readers = [], ...call }) => ({
      ...call,
      readers,
      at: beginOf(call.work, Math.floor(share * duration * LAST)),
    }))
    .sort((a, b) => a.at - b.at)
    .map((call, n) => ({ ...call, n, mark: `storm-${n}-` }));
}

const beginOf = (work: Work, at: number) =>
  "wait" in work && work.wait === 0 ? at - (at % BATCH_MS) : at;
