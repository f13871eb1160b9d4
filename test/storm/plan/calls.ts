/** The calls of a seed with their times: the same seed gives the same calls. */
import fc from "fast-check";
import type { Behaviour } from "../../receiver/exchange.ts";
import { between, onceIn, samples, share } from "./seeded.ts";
import { CALLERS, type Caller, type Payer } from "./teams.ts";

/** The work of a call. Each has a mark in its input, which identifies its prediction. */
export type Work =
  /** Created with `Prefer: wait`, some with `cancel`; or without it and polled, which come in batches. */
  | { kind: "hello"; wait: number }
  | { kind: "sums"; wait: number; cancels: boolean; seconds: number; numbers: number[] }
  /** Created with `stream`; the reader leaves and resumes. */
  | { kind: "stream"; tokens: number; every: number; text: number }
  | { kind: "chat"; streamed: boolean; words: number; every: number; leaves: boolean }
  /** A response: most are in the background, and read like a stream. */
  | { kind: "response"; background: boolean; words: number; every: number }
  | { kind: "embedding" }
  /** A picture as input, and another as output. */
  | { kind: "picture"; uploaded: boolean; colours: number }
  /** An output, and sometimes an input, that is in R2. */
  | { kind: "large"; letters: number; padding: number }
  /** An upload that nobody completes. */
  | { kind: "abandoned"; bytes: number };

export interface ReaderPlan {
  /** Time after the prediction was accepted, ms. */
  joinsAfter: number;
  /** The number of events of each connection after which the reader leaves. */
  stays: number[];
  /** The time after which the reader resumes, ms. */
  away: number;
  /** Whether the reader resumes with Last-Event-ID, as an EventSource does. */
  isEventSource: boolean;
  /** The caller that reads, if it is not the one that created the prediction. */
  by?: Caller;
}

interface WebhookPlan {
  secret: "standard" | "text";
  output: boolean;
  /** Behaviours of the receiver before the first success. */
  faults: Behaviour[];
}

export interface Call {
  n: number;
  /** Time since the storm began, ms. */
  at: number;
  /** A text in the input of the call. */
  mark: string;
  by: Maker;
  /** The account that the caller acts for. */
  account: Payer;
  /** The number of the caller's key. All callers number theirs alike. */
  key: number;
  /** Whether the call goes through the cable that breaks; otherwise only the parts behind it break. */
  overCable: boolean;
  /** Whether the call runs in a container, if Docker takes part and the model has an image. */
  boxed: boolean;
  work: Work;
  /** The number of parallel sends with an Idempotency-Key; undefined for one send without a key. */
  parallel: number | undefined;
  webhook: WebhookPlan | undefined;
  /** Time of a cancel after the prediction was accepted, ms. */
  cancelAfter: number | undefined;
  /** Readers besides the caller that created the prediction. */
  readers: ReaderPlan[];
}

/** A caller that makes calls. */
export type Maker = Exclude<Caller, "cyd">;

/** The interval at which calls that are only polled begin together, ms. */
const BATCH_MS = 5_000;
/** The share of the storm after which no call begins, so that faults have time to affect each. */
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

/** A behaviour of the receiver other than a success. */
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
  overCable: fc.boolean(),
  boxed: fc.constantFrom(true, false, false, false),
  work: works,
  parallel: fc.constantFrom(undefined, undefined, 1, 2, 4),
  webhook: onceIn(3, webhook),
  cancelAfter: onceIn(8, between(0, 3_000)),
  readers: onceIn(3, fc.array(reader, { minLength: 1, maxLength: 2 })),
  by: fc.constantFrom<Maker[]>(
    ...(["ada", "ada", "ada", "bob", "bob", "bob"] as const),
    ...(["ada@acme", "bob@acme", "service@acme", "cyd@acme", "cyd@acme", "cyd@zeta"] as const),
  ),
});

/** Returns calls in the order of their beginnings. @param duration of the storm, ms */
export function callsOf(seed: number, count: number, duration: number): Call[] {
  const keys = new Map<Maker, number>();
  return samples(calls, seed, count)
    .map(({ share, readers = [], ...call }) => ({
      ...call,
      readers,
      at: beginOf(call.work, Math.floor(share * duration * LAST)),
    }))
    .sort((a, b) => a.at - b.at)
    .map((call, n) => {
      const key = keys.get(call.by) ?? 0;
      if (call.parallel) keys.set(call.by, key + 1);
      const { account } = CALLERS[call.by];
      return { ...call, n, mark: `storm-${n}-`, account, key };
    });
}

const beginOf = (work: Work, at: number) =>
  "wait" in work && work.wait === 0 ? at - (at % BATCH_MS) : at;
