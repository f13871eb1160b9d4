/** The alarm of an account, while each call of the platform in it fails in turn. */
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

const workOf = (part: Part) => ({
  prepare: () => madeFor(part),
  act: ({ account }: Made) => goesOff(account),
  repeat: ({ account }: Made) => goesOff(account),
  check: part.check,
});

test.each(Object.entries(PARTS))("%s", LONG, async (_, part) => {
  expect(await atEachCall(workOf(part))).not.toEqual([]);
});

test.each(Object.entries(PARTS))("%s, while objects are reset", LONG, async (_, part) => {
  expect(await atEachWrite(workOf(part))).not.toEqual([]);
});
