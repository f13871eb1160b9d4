/** What is due every minute, while each call of the platform in it fails in turn. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { SWEEPS } from "../../../src/services/sweeps.ts";
import { services } from "../support/accounts.ts";
import { captureLog } from "../support/log.ts";
import { atEachCall, LONG } from "../support/one-at-a-time.ts";
import { SWEPT, withOldKeys } from "../support/sweeps.ts";
import { startClock, stopClock } from "../support/time.ts";

beforeEach(() => {
  stopClock();
  captureLog("info");
  captureLog("warn");
  captureLog("error");
});
afterEach(() => {
  withOldKeys();
  startClock();
  vi.restoreAllMocks();
});

test.each(Object.entries(SWEPT))("%s", LONG, async (name, make) => {
  const sweep =
    Object.entries(SWEEPS).find(([one]) => one === name)?.[1] ?? expect.fail("no sweep");
  const calls = await atEachCall({
    prepare: make,
    act: () => sweep(services, Date.now()),
    repeat: () => sweep(services, Date.now()),
    check: (isDone) => isDone(),
  });
  expect(calls).not.toEqual([]);
});
