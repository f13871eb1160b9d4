/** The header `Range` (RFC 9110). */
import fc from "fast-check";
import { expect, test } from "vitest";
import { parseRange } from "../../../src/domain/files/byte-range.ts";

const SIZE = 100;

test.each([
  ["bytes=0-0", 0, 0],
  ["bytes=0-99", 0, 99],
  ["bytes=10-", 10, 99],
  ["bytes=99-", 99, 99],
  ["bytes=50-1000", 50, 99],
  ["bytes=0-999999999999999", 0, 99],
  ["bytes=-1", 99, 99],
  ["bytes=-100", 0, 99],
  ["bytes=-999", 0, 99],
  [" bytes=5-6 ", 5, 6],
  ["bytes=007-008", 7, 8],
])("%s of 100 bytes is the range from %i to %i", (header, first, last) => {
  expect(parseRange(header, SIZE)).toEqual({ first, last });
});

test.each(["bytes=100-", "bytes=100-200", "bytes=999999999999999-", "bytes=-0"])(
  "%s of 100 bytes starts behind the end",
  (header) => {
    expect(parseRange(header, SIZE)).toBe("unsatisfiable");
  },
);

test.each([
  undefined,
  ...["", "bytes=", "bytes=-", "bytes=9-3", "bytes=0-1,5-6", "bytes=a-b", "bytes=1.5-2"],
  ...["bytes=--5", "bytes=1-2-3", "bytes 0-1", "items=0-1", "bytes=0x1-0x2"],
  ...["bytes=0-9999999999999999"],
])("%s is not a range, so the whole file is sent", (header) => {
  expect(parseRange(header, SIZE)).toBeUndefined();
});

test("an empty file has no range", () => {
  for (const header of ["bytes=0-", "bytes=0-0", "bytes=-5"]) {
    expect(parseRange(header, 0)).toBe("unsatisfiable");
  }
});

test("a parsed range lies within the file", () => {
  const end = fc.option(fc.nat(2_000), { nil: "" });
  fc.assert(
    fc.property(end, end, fc.nat(1_000), (from, to, size) => {
      const range = parseRange(`bytes=${from}-${to}`, size);
      if (range === undefined || range === "unsatisfiable") return;
      expect(range.first).toBeGreaterThanOrEqual(0);
      expect(range.last).toBeGreaterThanOrEqual(range.first);
      expect(range.last).toBeLessThan(size);
    }),
  );
});
