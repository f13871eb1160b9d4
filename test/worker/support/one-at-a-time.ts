/** Work that no HTTP call starts, while each call of the platform in it fails, one at a time. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, vi } from "vitest";
import { eventually, pause } from "./eventually.ts";
import { type Failure, failing, type Injection } from "./hiccups.ts";
import { captureLog } from "./log.ts";
import { resetting } from "./resets.ts";
import { advance, startClock, stopClock } from "./time.ts";

export interface Work<Made> {
  /** What it is done with, made before anything fails. */
  prepare: () => Promise<Made>;
  /** What the platform starts. It rejects when the platform would see a failure. */
  act: (made: Made) => Promise<unknown>;
  /** What it starts afterwards, each time later. */
  repeat: (made: Made) => Promise<unknown>;
  /** What must be true in the end. It is asked until it is. */
  check: (made: Made) => Promise<void>;
}

/** The platform gives up an alarm that has failed once and six times more. */
const ALARM_TRIES = 7;
/** Half an hour in all: an account looks at its predictions every five minutes, uploads wait for ten. */
const ROUNDS = 7;
const FIRST_ROUND_S = 31;
/** What goes on in the background of an object begins within these, ms. */
const BACKGROUND_MS = 40;
/** A row may be late where much else runs. */
const LAST_MS = 15_000;

/** Whoever meets the first does not ask again at once; whoever meets the second may, and it was done. */
export const FAILURES: Failure[] = [
  { message: "Durable Object is overloaded. Too many requests queued.", isDone: false },
  { message: "Network connection lost.", isDone: true },
];

const RESET: Failure = {
  message: "Durable Object reset because its code was updated.",
  isDone: false,
};

/** Each takes up to half a second, and some have twenty. */
export const LONG = { timeout: 180_000 };

/** For all tests of a file: time stands still, and of what fails on purpose nothing is logged. */
export function expectFailures(): void {
  beforeEach(() => {
    stopClock();
    for (const level of ["info", "warn", "error"] as const) captureLog(level);
  });
  afterEach(() => {
    startClock();
    vi.restoreAllMocks();
  });
}

/** @returns what it calls */
export const atEachCall = <Made>(work: Work<Made>) => atEach(work, failing(), FAILURES);

/** While the object that writes is reset. @returns what it writes */
export const atEachWrite = <Made>(work: Work<Made>) => atEach(work, resetting(), [RESET]);

async function atEach<Made>(work: Work<Made>, platform: Injection, failures: Failure[]) {
  const run = async (nth = 0, failure?: Failure) => {
    const made = await work.prepare();
    platform.begin((call) => (call === nth ? failure : undefined));
    await work.act(made).catch((error: unknown) => {
      if (!failure) throw error;
    });
    if (!failure) await pause(BACKGROUND_MS);
    const calls = platform.calls();
    await settled(work, made, `${failure?.message} at ${calls[nth - 1]}, ${nth} of ${calls}`);
    platform.end();
    return calls;
  };
  const calls = await run();
  for (let nth = 1; nth <= calls.length; nth++)
    for (const failure of failures) await run(nth, failure);
  return calls;
}

async function settled<Made>({ check, repeat }: Work<Made>, made: Made, where: string) {
  for (let round = 0; round < ROUNDS; round++) {
    const isLast = round === ROUNDS - 1;
    try {
      return await eventually(() => check(made), isLast ? LAST_MS : BACKGROUND_MS);
    } catch (error) {
      if (isLast) throw new Error(where, { cause: error });
    }
    advance(FIRST_ROUND_S * 2 ** round);
    await repeat(made).catch(() => {});
  }
}

/**
 * Lets an alarm that is due go off, again and again while it fails, as the platform does.
 * @param open makes a stub: one whose call has failed with the object stays broken
 */
export async function goesOff(open: () => DurableObjectStub): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const at = await runInDurableObject(open(), (_, { storage }) => storage.getAlarm());
      if (at === null || at > Date.now()) return;
      return void (await runDurableObjectAlarm(open()));
    } catch (error) {
      if (tries === ALARM_TRIES) throw error;
      await runInDurableObject(open(), (_, { storage }) => storage.setAlarm(Date.now()));
    }
  }
}
