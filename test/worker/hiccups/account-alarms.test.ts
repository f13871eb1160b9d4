/** The alarm of an account object, while each of its platform calls fails in turn. */
import { expect, test } from "vitest";
import { Counters } from "../../../src/objects/account/counters.ts";
import { Upkeep } from "../../../src/objects/account/upkeep.ts";
import { type Made, madeFor, PARTS, type Part } from "../support/account-alarms.ts";
import {
  atEachCall,
  atEachWrite,
  expectFailures,
  goesOff,
  LONG,
} from "../support/one-at-a-time.ts";

expectFailures();

/** Methods that other parts call: `publish` is all that `catchUp` does. */
const WITHIN = ["publish"];

/** Returns the names of async methods, which may wait for the platform. */
const asyncMethods = ({ prototype }: { prototype: object }) =>
  Object.entries(Object.getOwnPropertyDescriptors(prototype))
    .filter(([, { value }]) => value?.constructor.name === "AsyncFunction")
    .map(([name]) => name);

test("the table has every part of the alarm", () => {
  const parts = [Upkeep, Counters].flatMap(asyncMethods);
  expect([...Object.keys(PARTS), ...WITHIN].sort()).toEqual(parts.sort());
});

const workOf = (part: Part) => ({
  prepare: () => madeFor(part),
  act: ({ account }: Made) => goesOff(account),
  repeat: ({ account }: Made) => goesOff(account),
  check: part.check,
});

test.each(Object.entries(PARTS))(
  "the part %s completes although each of its calls fails in turn",
  LONG,
  async (_, part) => {
    expect(await atEachCall(workOf(part))).not.toEqual([]);
  },
);

test.each(Object.entries(PARTS))(
  "the part %s completes although objects are reset at each write",
  LONG,
  async (_, part) => {
    expect(await atEachWrite(workOf(part))).not.toEqual([]);
  },
);
