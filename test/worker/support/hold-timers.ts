/** Time limits that a test ends. */
import { onTestFinished, vi } from "vitest";

/**
 * Holds the timers and waits that are set for exactly `heldMs`, until the test ends. Each runs where it was set:
 * what belongs to one request or object cannot be used from another.
 * @returns a function that runs those held so far
 */
export function holdTimers(heldMs: number): (() => void) & { count: () => number } {
  let ended = 0;
  let count = 0;
  const { setTimeout } = globalThis;
  const hold = (act: () => void) => {
    const turn = ended;
    count++;
    const timer = setInterval(() => {
      if (ended <= turn) return;
      count--;
      clearInterval(timer);
      act();
    }, 5);
    return timer;
  };
  const timeouts = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((act: () => void, ms?: number) =>
      ms === heldMs ? hold(act) : setTimeout(act, ms),
    );
  const wait = scheduler.wait.bind(scheduler);
  const waits = vi
    .spyOn(scheduler, "wait")
    .mockImplementation((ms, options) =>
      ms === heldMs ? new Promise((resolve) => void hold(resolve)) : wait(ms, options),
    );
  onTestFinished(() => {
    timeouts.mockRestore();
    waits.mockRestore();
    ended = Number.POSITIVE_INFINITY;
  });
  return Object.assign(() => void ended++, { count: () => count });
}

/** Lets timers of a second and more follow the moved clock until the test ends, each where it was set. */
export function timersFollowClock(): void {
  const { setTimeout } = globalThis;
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation((act: () => void, ms = 0) => {
    if (ms < 1_000) return setTimeout(act, ms);
    const due = Date.now() + ms;
    const timer = setInterval(() => {
      if (Date.now() < due) return;
      clearInterval(timer);
      act();
    }, 5);
    return timer;
  });
  onTestFinished(() => void spy.mockRestore());
}

/** Lets timers of exactly `ms` end after 20 ms until the test ends, each where it was set. */
export function shortenTimers(ms: number): void {
  const { setTimeout } = globalThis;
  const spy = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((act: () => void, given?: number) =>
      setTimeout(act, given === ms ? 20 : given),
    );
  onTestFinished(() => void spy.mockRestore());
}
