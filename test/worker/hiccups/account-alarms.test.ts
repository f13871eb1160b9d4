/** The alarm of an account, while each call of the platform in it fails in turn. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { Counters } from "../../../src/objects/account/counters.ts";
import { Upkeep } from "../../../src/objects/account/upkeep.ts";
import { madeFor, PARTS } from "../support/account-alarms.ts";
import { captureLog } from "../support/log.ts";
import { atEachCall, goesOff } from "../support/one-at-a-time.ts";
import { startClock, stopClock } from "../support/time.ts";

beforeEach(() => {
  stopClock();
  captureLog("warn");
  captureLog("error");
});
afterEach(() => {
  startClock();
  vi.restoreAllMocks();
});

/** `catchUp` calls it, and it is all that this does. */
const WITHIN = ["publish"];

/** Methods that may have to wait for the platform. */
const asyncMethods = ({ prototype }: { prototype: object }) =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([, { value }]) => value?.constructor.name === "AsyncFunction")
    .map(([name]) => name);

test("the table has each part of it", () => {
  const parts = [Upkeep, Counters].flatMap(asyncMethods);
  expect([...Object.keys(PARTS), ...WITHIN].sort()).toEqual(parts.sort());
});

test.each(Object.entries(PARTS))("%s", async (_, part) => {
  const calls = await atEachCall({
    prepare: () => madeFor(part),
    act: ({ account }) => goesOff(account),
    repeat: ({ account }) => goesOff(account),
    check: part.check,
  });
  expect(calls).not.toEqual([]);
});
