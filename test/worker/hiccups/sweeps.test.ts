/** What is due every minute, while each call of the platform in it fails in turn. */
import { afterEach, expect, test } from "vitest";
import { SWEEPS } from "../../../src/services/sweeps.ts";
import { services } from "../support/accounts.ts";
import { atEachCall, expectFailures, LONG } from "../support/one-at-a-time.ts";
import { SWEPT, withOldKeys } from "../support/sweeps.ts";

expectFailures();
afterEach(withOldKeys);

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
