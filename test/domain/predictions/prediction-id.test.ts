/** Prediction IDs: UUIDv7 in the order of creation, whose last 8 bits are a shard number. */
import { validate, version } from "uuid";
import { expect, test } from "vitest";
import {
  idRange,
  newPredictionUuid,
  readIdPart,
} from "../../../src/domain/predictions/prediction-id.ts";

test("prediction IDs are UUIDv7 of shard 0, and sort by their creation, also within a millisecond", () => {
  const ids = Array.from({ length: 5_000 }, newPredictionUuid);
  expect(ids.toSorted()).toEqual(ids);
  expect(new Set(ids).size).toBe(ids.length);
  expect(ids.every((id) => validate(id) && version(id) === 7 && id.endsWith("00"))).toBe(true);
});

const ID = "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e";
const NOW = 0x01980c3e7b0a;

const read = (text: string) => readIdPart(text, NOW);

test("each beginning of an ID is a part of it, up to the whole ID", () => {
  for (let length = 1; length <= ID.length; length++) {
    const beginning = ID.slice(0, length);
    expect(read(beginning)).toEqual({ beginning });
    expect(read(beginning.toUpperCase())).toEqual({ beginning });
  }
});

test("each end of eight or more characters is a part of an ID, with or without the prefix that lists show", () => {
  for (let length = 8; length < ID.length; length++) {
    const ending = ID.slice(-length);
    expect(read(ending)).toEqual({ ending });
    expect(read(`…${ending.toUpperCase()}`)).toEqual({ ending });
    expect(read(`...${ending}`)).toEqual({ ending });
  }
});

test.each([
  ["a future time is an ending", "01980c3f", { ending: "01980c3f" }],
  ["text after three dots is an ending", "…01980c3e", { ending: "01980c3e" }],
  ["seven characters are a beginning", "b2c4d5e", { beginning: "b2c4d5e" }],
  ["any other text is a beginning", "3f6a-1b2c", { beginning: "3f6a-1b2c" }],
])("the searched part of an ID is read: %s", (_, text, part) => expect(read(text)).toEqual(part));

const within = (id: string, { from, before }: ReturnType<typeof idRange>) =>
  (from === undefined || id >= from) && (before === undefined || id < before);

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
