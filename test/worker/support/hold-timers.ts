/** Time limits that a test ends. */
import { onTestFinished, vi } from "vitest";

/**
 * Holds the timers and intervals that are set for exactly `heldMs`, until the test ends. Each runs where it was
 * set: what belongs to one request or object cannot be used from another.
 * @returns a function that runs the timers held so far, and the intervals once
 */
export function holdTimers(heldMs: number): (() => void) & { count: () => number } {
  let ended = 0;
  let count = 0;
  const { setTimeout, setInterval } = globalThis;
  const timeouts = vi
    .spyOn(globalThis, "setTimeout")
    .mockImplementation((act: () => void, ms?: number) => {
      if (ms !== heldMs) return setTimeout(act, ms);
      const turn = ended;
      count++;
      const timer = setInterval(() => {
        if (ended <= turn) return;
        count--;
        clearInterval(timer);
        act();
      }, 5);
      return timer;
    });
  const intervals = vi
    .spyOn(globalThis, "setInterval")
    .mockImplementation((act: () => void, ms?: number) => {
      if (ms !== heldMs) return setInterval(act, ms);
      let turn = ended;
      return setInterval(() => {
        if (ended <= turn) return;
        turn = ended;
        act();
      }, 5);
    });
  onTestFinished(() => {
    timeouts.mockRestore();
    intervals.mockRestore();
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
