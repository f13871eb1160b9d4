import { describe, expect, test } from "vitest";
import { type RunnerEvent, withEvents } from "../../../src/domain/runners/events.ts";
import {
  DAY_STEPS,
  dayOf,
  type HistoryHour,
  recorded,
  type Sample,
} from "../../../src/domain/runners/history.ts";
import { RUNNER_EVENT_KINDS } from "../../../src/protocol/runner-log.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** The time of a full hour. */
const START = 480_000 * HOUR;

const sample = (used: number, running = 0, memory_used_gb = 1): Sample => ({
  running,
  gpus: [{ used, memory_used_gb }],
});

/** Returns the hours that result from these reports, given by minutes since the start. */
function reported(...reports: [minute: number, sample: Sample][]) {
  let open: HistoryHour | null = null;
  const hours: HistoryHour[] = [];
  for (const [minute, one] of reports) {
    const { open: next, over } = recorded(open, one, START + minute * MINUTE);
    if (over) hours.push(over);
    open = next;
  }
  return open ? [...hours, open] : hours;
}

const dayAt = (minute: number, hours: HistoryHour[]) => dayOf(hours, START + minute * MINUTE);

describe("five minutes", () => {
  test("a step of five minutes has the mean use, and the most predictions and memory", () => {
    const hours = reported(
      [0, sample(0.2, 3, 10)],
      [1, sample(0.4, 1, 12.34)],
      [4, sample(0.9, 2, 11)],
    );
    expect(dayAt(4, hours).at(-1)).toEqual({
      reports: 3,
      running: 3,
      gpus: [{ used: 0.5, memory_used_gb: 12.3 }],
    });
  });

  test("a step of five minutes restarts when the machine has other GPUs", () => {
    const two = { used: 1, memory_used_gb: 2 };
    const hours = reported([0, sample(0.2, 3)], [1, { running: 1, gpus: [two, two] }]);
    expect(dayAt(1, hours).at(-1)).toEqual({ reports: 1, running: 3, gpus: [two, two] });
  });

  test("a step of five minutes ignores impossible values", () => {
    const hours = reported([0, { running: 1, gpus: [{ used: 1e300, memory_used_gb: 1e300 }] }]);
    expect(dayAt(0, hours).at(-1)?.gpus).toEqual([{ used: 1, memory_used_gb: 1_000_000 }]);
    const none = reported([0, { running: 1, gpus: [{ used: -1.7e308, memory_used_gb: 0 }] }]);
    expect(dayAt(0, none).at(-1)?.gpus).toEqual([{ used: 0, memory_used_gb: 0 }]);
  });
});

describe("a day", () => {
  test("a day ends with the current five minutes, and has gaps where nothing was reported", () => {
    const hours = reported([0, sample(0.1)], [5, sample(0.2)], [17, sample(0.3)]);
    const uses = dayAt(22, hours).map((step) => step?.gpus[0]?.used ?? null);
    expect(uses).toHaveLength(DAY_STEPS);
    expect(uses.slice(-6)).toEqual([null, 0.1, 0.2, null, 0.3, null]);
  });

  test("a day spans many hours, and forgets older ones", () => {
    const hours = reported(
      [0, sample(0.1)],
      [59, sample(0.2)],
      [61, sample(0.3)],
      [23 * 60 + 59, sample(0.4)],
    );
    const known = (minute: number) =>
      dayAt(minute, hours).flatMap((step) => step?.gpus[0]?.used ?? []);
    expect(known(23 * 60 + 59)).toEqual([0.1, 0.2, 0.3, 0.4]);
    expect(known(24 * 60 + 59)).toEqual([0.3, 0.4]);
    expect(known(72 * 60)).toEqual([]);
  });

  test("a day after a long gap has no steps of another day", () => {
    const hours = reported([0, sample(0.1)], [25 * 60, sample(0.2)]);
    expect(hours.map(({ hour }) => hour - START / HOUR)).toEqual([0, 25]);
    expect(dayAt(25 * 60, hours).filter(Boolean)).toHaveLength(1);
  });

  test("a day continues after a clock was set back", () => {
    const hours = reported([60, sample(0.1)], [59, sample(0.2)], [60, sample(0.3)]);
    expect(dayAt(60, hours).filter(Boolean).length).toBeGreaterThan(0);
  });
});

const event = (at: number, detail = ""): RunnerEvent => ({ at, kind: "started", detail });

test("runner events stay in the order of their times, whenever they arrive", () => {
  const all = withEvents([event(1), event(5)], [event(7), event(3)]);
  expect(all.map(({ at }) => at)).toEqual([1, 3, 5, 7]);
});

test("a runner event that arrives twice is kept once", () => {
  expect(withEvents([event(1)], [event(1), event(1, "other"), event(1, "other")])).toHaveLength(2);
});

test("each kind of runner event is kept, with its actor", () => {
  const all = RUNNER_EVENT_KINDS.map((kind, at) => ({ at, kind, detail: "", by: "somebody" }));
  expect(withEvents([], all)).toEqual(all);
});

test("a runner event only replaces older ones of its kind, and takes at most one line", () => {
  const drained: RunnerEvent = { at: -1, kind: "drained", detail: "" };
  const many = Array.from({ length: 100 }, (_, at) => event(at, "x".repeat(10_000)));
  const containers = many.map((one) => ({ ...one, kind: "container_started" as const }));
  const all = withEvents(withEvents([drained], many), containers);
  expect(all[0]).toEqual(drained);
  const last = Array.from({ length: 40 }, (_, n) => 60 + n);
  expect(all.filter(({ kind }) => kind === "started").map(({ at }) => at)).toEqual(last);
  expect(all.filter(({ kind }) => kind === "container_started").map(({ at }) => at)).toEqual(last);
  expect(JSON.stringify(all).length).toBeLessThan(20_000);
});
