/** Sweeps of every minute when one of them fails. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SWEEPS } from "../../../src/services/sweeps.ts";
import { pause } from "../support/eventually.ts";
import { captureLog } from "../support/log.ts";
import { sweep } from "../support/queues.ts";
import { startClock, stopClock } from "../support/time.ts";

beforeEach(stopClock);
afterEach(() => {
  vi.restoreAllMocks();
  startClock();
});

test("a sweep that fails ends none of the others, and is named in the log", async () => {
  const log = captureLog("error");
  // The first sweep fails at once, and the slower ones still finish.
  vi.spyOn(SWEEPS, "listings").mockRejectedValue(new Error("D1_ERROR: no such thing"));
  let isDone = false;
  vi.spyOn(SWEEPS, "uploads").mockImplementation(async () => {
    await pause(50);
    isDone = true;
  });
  const others = [vi.spyOn(SWEEPS, "sessions"), vi.spyOn(SWEEPS, "backups")];
  await expect(sweep()).rejects.toThrow(/^sweeps failed: listings$/);
  expect(isDone).toBe(true);
  for (const other of others) expect(other).toHaveBeenCalledOnce();
  expect(log.entries()).toMatchObject([{ message: "Sweep failed", sweep: "listings" }]);
});
