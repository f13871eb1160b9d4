/** The sweeps of every minute, while each of their platform calls fails in turn. */
import { afterEach, expect, test } from "vitest";
import { SWEEPS } from "../../../src/services/sweeps.ts";
import { services } from "../support/accounts.ts";
import { atEachCall, expectFailures, LONG } from "../support/one-at-a-time.ts";
import { SWEPT, withOldKeys } from "../support/sweeps.ts";

expectFailures();
afterEach(withOldKeys);

test.each(Object.entries(SWEPT))(
  "the sweep %s completes although each of its calls fails in turn",
  LONG,
  async (name, make) => {
    const sweep =
      Object.entries(SWEEPS).find(([one]) => one === name)?.[1] ?? expect.fail("no sweep");
    const calls = await atEachCall({
      prepare: make,
      act: () => sweep(services, Date.now()),
      repeat: () => sweep(services, Date.now()),
      check: (isDone) => isDone(),
    });
    expect(calls).not.toEqual([]);
  },
);
