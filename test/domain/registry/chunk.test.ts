import { describe, expect, test } from "vitest";
import { nextPiece, PART_BYTES, parseContentRange } from "../../../src/domain/registry/chunk.ts";

describe("the next piece", () => {
  test.each([
    [0, PART_BYTES, { take: PART_BYTES, fills: true }],
    [0, PART_BYTES - 1, { take: PART_BYTES - 1, fills: false }],
    [10, PART_BYTES, { take: PART_BYTES - 10, fills: true }],
    [10, 5, { take: 5, fills: false }],
    [10, PART_BYTES - 10, { take: PART_BYTES - 10, fills: true }],
  ])("the next piece after %d bytes, with %d to come, is %j", (rest, left, piece) => {
    expect(nextPiece(rest, left)).toEqual(piece);
  });
});

test.each([
  ["0-9", { first: 0, length: 10 }],
  ["bytes 5-5", { first: 5, length: 1 }],
  ["bytes 0-9/100", { first: 0, length: 10 }],
  ["bytes=7-9/*", { first: 7, length: 3 }],
  ["9-5", undefined],
  ["-5", undefined],
  ["0-", undefined],
  ["", undefined],
])("Content-Range %s is read", (text, range) => {
  expect(parseContentRange(text)).toEqual(range);
});
