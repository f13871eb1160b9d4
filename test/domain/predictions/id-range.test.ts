/** Ranges of prediction IDs: by their first characters and by the time they were made. */
import { expect, test } from "vitest";
import { idRange } from "../../../src/domain/predictions/prediction-id.ts";

const within = (id: string, { from, before }: ReturnType<typeof idRange>) =>
  (from === undefined || id >= from) && (before === undefined || id < before);

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const AT = 0x01980c3e7b0a;

test.each([
  ["all", idRange(), true],
  ["its beginning", idRange("01980c3e"), true],
  ["itself", idRange(ID), true],
  ["another beginning", idRange("01980c3f"), false],
  ["from its time on", idRange(undefined, AT), true],
  ["after it", idRange(undefined, AT + 1), false],
  ["before its time", idRange(undefined, undefined, AT), false],
  ["before the next", idRange(undefined, undefined, AT + 1), true],
  ["a time and a beginning", idRange("0198", AT, AT + 1), true],
  ["a time and another beginning", idRange("0199", AT, AT + 1), false],
  ["before 1970", idRange(undefined, -5), true],
])("an ID lies in the range or not: %s", (_, range, isIn) => {
  expect(within(ID, range)).toBe(isIn);
});
