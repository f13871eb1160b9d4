/** What is due every minute, when a call of the platform fails. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { pause } from "../support/eventually.ts";
import { failing } from "../support/hiccups.ts";
import { captureLog } from "../support/log.ts";
import { sweep } from "../support/queues.ts";
import { startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

const LOST = { message: "D1_ERROR: no such thing", isDone: false };

test("a sweep that fails ends none of the others, and is named", async () => {
  const log = captureLog("error");
  const platform = failing();
  platform.begin(() => undefined);
  await sweep();
  const all = platform.calls().length;
  platform.begin((nth) => (nth === 1 ? LOST : undefined));
  await expect(sweep()).rejects.toThrow(/^sweeps failed: \w+$/);
  const done = platform.calls().length;
  // As many as without a failure, but for those of the one that failed.
  expect(done).toBeGreaterThan(all / 2);
  await pause(50);
  expect(platform.calls()).toHaveLength(done);
  expect(log.entries()).toMatchObject([{ message: "Sweep failed", sweep: expect.any(String) }]);
});
