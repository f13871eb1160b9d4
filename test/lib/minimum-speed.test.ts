import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { MinimumSpeed } from "../../src/lib/minimum-speed.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const AVERAGE = { bytesPerSecond: 150_000, graceMs: 60_000 };
const SLOW = 20_000;

/**
 * Resolves with the seconds after which a body of `bytes` per second is too slow, or undefined within an
 * hour.
 */
async function endOf(bytes: number, average?: typeof AVERAGE) {
  let isOver = false;
  const pace = new MinimumSpeed(() => new Error("too slow"), average);
  pace.tooSlow.catch(() => {
    isOver = true;
  });
  for (let second = 1; second <= 3_600; second++) {
    pace.received(bytes);
    await vi.advanceTimersByTimeAsync(1_000);
    if (isOver) {
      pace.end();
      return second;
    }
  }
  pace.end();
  return undefined;
}

test("a body that brings its share in each period is never too slow", async () => {
  expect(await endOf(SLOW)).toBeUndefined();
  expect(await endOf(10_000)).toBe(10);
});

test("a slow body has a minute where an average is required, and a fast one has no limit", async () => {
  expect(await endOf(SLOW, AVERAGE)).toBe(70);
  expect(await endOf(160_000, AVERAGE)).toBeUndefined();
});

test("the time that a client waits for the service does not count", async () => {
  let isOver = false;
  const pace = new MinimumSpeed(() => new Error("too slow"), AVERAGE);
  pace.tooSlow.catch(() => {
    isOver = true;
  });
  const taking = pace.excluding(new Promise((resolve) => setTimeout(resolve, 600_000)));
  await vi.advanceTimersByTimeAsync(600_000);
  await taking;
  expect(isOver).toBe(false);
  pace.end();
});
