/** Events that a reader may have seen and the log may lack: the last ones of an attempt only. */
import { describe, expect, test } from "vitest";
import { lostEvents, type Seen } from "../../../src/dev/verify/stream.ts";

const event = (id: number, name: string, data: unknown, at: number): Seen => ({
  ...{ id, event: name, data, at },
});
const status = (id: number, data: object, at: number) => event(id, "status", data, at);
const logs = (id: number, at: number) => event(id, "logs", `line ${id}`, at);

const BROKE = 1_000;
/** The first attempt has output until its runner and the object died; the second one begins at 40,000. */
const first = [
  status(1, { status: "started", attempt: 1 }, 0),
  logs(2, 100),
  logs(3, 800),
  logs(4, 900),
  logs(5, 990),
];
const lost = status(16_386, { status: "started", lost: 1 }, 30_000);
const again = status(16_387, { status: "started", attempt: 2 }, 40_000);
const second = [logs(16_388, 40_100), event(16_389, "done", {}, 41_000)];
const whole = [...first, lost, again, ...second];

/** @returns the IDs of the events that may be missing, given the missing ones */
const lostIds = (missing: number[], { seen = whole, breaks = [BROKE, 1_500, 2_000] } = {}) =>
  lostEvents({ seen, breaks, log: seen.filter(({ id }) => !missing.includes(id)) }).map(
    ({ id }) => id,
  );

describe("may be missing", () => {
  test("the last 250 ms of a lost attempt may be missing, if another attempt followed", () => {
    expect(lostIds([3, 4, 5])).toEqual([3, 4, 5]);
    expect(lostIds([5])).toEqual([5]);
  });

  test("the last 250 ms of each such attempt may be missing", () => {
    const seen = [
      ...[...first, lost, again, logs(16_388, 40_100)],
      status(32_772, { status: "started", lost: 2 }, 80_000),
      status(32_773, { status: "started", attempt: 3 }, 90_000),
      event(32_774, "done", {}, 90_001),
    ];
    expect(lostIds([4, 5, 16_388], { seen, breaks: [BROKE, 40_200] })).toEqual([4, 5, 16_388]);
  });
});

describe("may not be missing", () => {
  test("no event is listed where none is missing", () => {
    expect(lostIds([])).toEqual([]);
  });

  test("an event that is older than 250 ms at the break may not be missing", () => {
    expect(lostIds([2, 3, 4, 5])).toEqual([3, 4, 5]);
    expect(lostIds([5], { breaks: [2_000] })).toEqual([]);
  });

  test("an event before a stored one may not be missing", () => {
    expect(lostIds([3, 4])).toEqual([]);
    expect(lostIds([3, 5])).toEqual([5]);
  });

  test("the end of the last attempt may not be missing, whether it was lost or not", () => {
    expect(lostIds([16_388])).toEqual([]);
    const failed = [event(16_387, "error", {}, 30_001), event(16_388, "done", {}, 30_001)];
    expect(lostIds([4, 5], { seen: [...first, lost, ...failed] })).toEqual([]);
    expect(lostIds([4, 5], { seen: [...first, ...failed] })).toEqual([]);
  });

  test("an event of an attempt that was handed back may not be missing", () => {
    const returned = status(16_386, { status: "started", returned: 1 }, 30_000);
    expect(lostIds([4, 5], { seen: [...first, returned, again, ...second] })).toEqual([]);
  });

  test("an event of a stream that never broke off after it may not be missing", () => {
    expect(lostIds([5], { breaks: [] })).toEqual([]);
    expect(lostIds([5], { breaks: [950] })).toEqual([]);
  });

  test("an event of the prediction's own may not be missing", () => {
    const seen = [...first, status(6, { status: "started" }, 995), lost, again, ...second];
    expect(lostIds([6], { seen })).toEqual([]);
    expect(lostIds([1, 16_386, 16_387, 16_389])).toEqual([]);
  });
});
