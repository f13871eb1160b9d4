/** Moves of the clock in place of sleeps. Tests share the clock with the Durable Objects. */
import { runDurableObjectAlarm } from "cloudflare:test";
import { vi } from "vitest";
import { objectOf } from "./objects.ts";

/**
 * Stops the clock at the present. A test that sets a date of its own takes one far ahead: workerd's clock
 * starts alarms, and a file whose alarms were days overdue by it (60 h were enough) never ended.
 */
export const stopClock = () => vi.useFakeTimers({ toFake: ["Date"] });

export const startClock = () => vi.useRealTimers();

export const advance = (seconds: number) => vi.setSystemTime(Date.now() + seconds * 1_000);

/** Moves the clock and runs the alarm of a prediction, as the platform would have by then. */
export async function passes(seconds: number, predictionId: string): Promise<void> {
  advance(seconds);
  await runDurableObjectAlarm(await objectOf(predictionId));
}

/** Runs `act` without starting timers: an object that waits for a timer could not be evicted. */
export async function withoutTimers<T>(act: () => Promise<T>): Promise<T> {
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  try {
    return await act();
  } finally {
    stopClock();
  }
}

/**
 * Fakes the date, and the timers of the object that calls this: the test's own, or one by `runInDurableObject`,
 * where the test then also advances the time. Other objects keep real timers, because a fake timer runs where
 * the time is advanced, and there the objects of an earlier test cannot use what belongs to them.
 */
export function fakeTimers(): void {
  const socket = new WebSocketPair()[0];
  const isHere = () => {
    try {
      return socket.readyState >= 0;
    } catch {
      return false;
    }
  };
  const { setTimeout, clearTimeout } = globalThis;
  vi.useFakeTimers({ toFake: ["Date", "setTimeout", "clearTimeout"] });
  const fake = { setTimeout: globalThis.setTimeout, clearTimeout: globalThis.clearTimeout };
  Object.assign(globalThis, {
    setTimeout: (act: () => void, ms?: number) =>
      isHere() ? fake.setTimeout(act, ms) : setTimeout(act, ms),
    clearTimeout: (timer: number) => (isHere() ? fake.clearTimeout(timer) : clearTimeout(timer)),
  });
}
