/** Work that no HTTP call starts, while each call of the platform in it fails, one at a time. */
import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, vi } from "vitest";
import { eventually, pause } from "./eventually.ts";
import { type Failure, failing, type Injection } from "./failing.ts";
import { captureLog } from "./log.ts";
import { resetting } from "./resets.ts";
import { advance, startClock, stopClock } from "./time.ts";

interface Work<Made> {
  /** Makes the input of the work, before anything fails. */
  prepare: () => Promise<Made>;
  /** Does the work as the platform starts it. It rejects when the platform would see a failure. */
  act: (made: Made) => Promise<unknown>;
  /** Repeats what the platform starts later, in each round. */
  repeat: (made: Made) => Promise<unknown>;
  /** Checks the result, and is repeated until it passes. */
  check: (made: Made) => Promise<void>;
}

/** The tries of an alarm: the platform gives up after the first and six more. */
const ALARM_TRIES = 7;
/**
 * The rounds take half an hour in all: an account checks its predictions every 5 minutes, and uploads wait
 * for 10.
 */
const ROUNDS = 7;
const FIRST_ROUND_S = 31;
/** Background work of an object begins within this time, ms. */
const BACKGROUND_MS = 40;
/** The time of the last check, ms: a row may be late on a busy machine. */
const LAST_MS = 15_000;

/**
 * A caller of the first failure does not repeat at once; one of the second may, although the call has taken
 * effect.
 */
export const FAILURES: Failure[] = [
  { message: "Durable Object is overloaded. Too many requests queued.", isDone: false },
  { message: "Network connection lost.", isDone: true },
];

const RESET: Failure = {
  message: "Durable Object reset because its code was updated.",
  isDone: false,
};

/** The time of a test: each run takes up to half a second, and some tests have twenty. */
export const LONG = { timeout: 180_000 };

/** Stops the clock and captures the log in all tests of a file. */
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

/** Runs the work once for each call and failure. @returns the names of the calls */
export const atEachCall = <Made>(work: Work<Made>) => atEach(work, failing(), FAILURES);

/** Runs the work once for each write, and resets the object that writes. @returns the names of the writes */
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
 * Runs an alarm that is due, and repeats it while it fails, as the platform does.
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
