import { describe, expect, test } from "vitest";
import { parsePrefer, preferenceApplied } from "../../../src/domain/predictions/prefer.ts";

const LIMITS = { default: 60, max: 60 };
const parse = (header: string | undefined) => parsePrefer(header, LIMITS);

describe("what is understood", () => {
  test.each<[string | undefined, number | undefined, boolean]>([
    [undefined, undefined, false],
    ["", undefined, false],
    ["wait", 60, false],
    ["wait=10", 10, false],
    ["wait=0", 0, false],
    ["wait = 10", 10, false],
    ["WAIT=10", 10, false],
    ["wait=90", 60, false],
    ['wait="10"', 10, false],
    ['wait="1\\0"', 10, false],
    ['wait=""', 60, false],
    ["wait=10;strict", 10, false],
    ["cancel", undefined, true],
    ["wait=10, cancel", 10, true],
    ["cancel,wait", 60, true],
    ["Cancel , wait=5", 5, true],
    ["respond-async", undefined, false],
    ["respond-async, wait=7, handling=lenient", 7, false],
    ["wait=3, wait=9", 3, false],
    ["wait, wait=9", 60, false],
    ["wait=3, wait=soon", 3, false],
    ['note="wait=5, cancel", wait=8', 8, false],
    ['note="a \\" wait=5,", wait=8', 8, false],
    ['note="open, wait=8', 8, false],
    [",,, ,", undefined, false],
    ["=", undefined, false],
    ['"', undefined, false],
    ["waiting=10, cancelled", undefined, false],
  ])("the header Prefer: %j is understood", (header, waitSeconds, cancel) => {
    expect(parse(header)).toEqual({ cancel, ...(waitSeconds !== undefined && { waitSeconds }) });
  });

  test("a bare wait asks for nothing without a default", () => {
    expect(parsePrefer("wait", { max: 3_600 }).waitSeconds).toBeUndefined();
    expect(parsePrefer("wait=9999", { max: 3_600 }).waitSeconds).toBe(3_600);
  });
});

test.each(["wait=", "wait=-1", "wait=1.5", "wait=soon", 'wait="x"', "wait=10s", "wait=1e3"])(
  "the header Prefer: %j asks for nothing",
  (header) => {
    expect(parse(`${header}, cancel`)).toEqual({ cancel: true });
  },
);

test("a Prefer header of a thousand quotes asks for nothing", () => {
  const nothing = parse(undefined);
  expect(parse('"'.repeat(1_000))).toEqual(nothing);
  expect(parse(`x=${'"\\'.repeat(500)}`)).toEqual(nothing);
});

test("Preference-Applied names the preferences that were honoured, and no others", () => {
  expect(preferenceApplied({ waitSeconds: 5, cancel: false })).toBe("wait=5");
  expect(preferenceApplied({ waitSeconds: 5, cancel: true })).toBe("wait=5, cancel");
  expect(preferenceApplied({ cancel: true })).toBeUndefined();
  expect(preferenceApplied({ cancel: false })).toBeUndefined();
});
