/** The timeline of a prediction: from the frames of its log and the measures of its runner. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  type Moments,
  NO_MOMENTS,
  type PredictionTimes,
  type Step,
  timeline,
  withEvent,
} from "../../../src/domain/predictions/timeline.ts";
import type { LogEvent } from "../../../src/protocol/event.ts";
import type { TaskStatus } from "../../../src/protocol/prediction.ts";

const T = Date.parse("2026-11-21T12:00:00.000Z");
const iso = (ms: number) => new Date(ms).toISOString();

/** Frames of a log: the seconds after the creation at which each was written, and its events. */
type Frames = [number, ...LogEvent[]][];

const pending: LogEvent = { event: "status", data: { status: "pending" } };
const started = (attempt = 1): LogEvent => ({
  event: "status",
  data: { status: "started", attempt },
});
const lost = (attempt: number): LogEvent => ({
  event: "status",
  data: { status: "started", lost: attempt },
});
const setup = (phase: "pulling" | "starting" | "ready"): LogEvent => ({
  event: "setup",
  data: { phase },
});
const output: LogEvent = { event: "output", data: "x" };
const end = (status: TaskStatus): LogEvent[] => [
  { event: "status", data: { status } },
  { event: "done", data: {} },
];

const momentsOf = (frames: Frames): Moments =>
  frames.reduce(
    (all, [seconds, ...events]) =>
      events.reduce((now, one) => withEvent(now, one, T + seconds * 1000), all),
    NO_MOMENTS,
  );

const row = (
  status: TaskStatus,
  updated: number,
  setupTime?: number,
  runTime?: number,
): PredictionTimes => ({
  created_at: iso(T),
  updated_at: iso(T + updated * 1000),
  status,
  setup_time: setupTime?.toFixed(3) ?? null,
  execution_time: runTime?.toFixed(3) ?? null,
});

/** Returns each step as `step state begin+seconds`, in seconds since the beginning. */
const told = (steps: Step[]) =>
  steps.map(({ kind, state, at, seconds }) =>
    [kind, state, at === null ? "-" : (at - T) / 1000, seconds ?? "-"].join(" "),
  );

describe("under way", () => {
  test("a prediction under way waits", () => {
    expect(told(timeline(momentsOf([[0, pending]]), row("pending", 0)))).toEqual([
      ...["created past 0 -", "queued current 0 -", "setup ahead - -", "started ahead - -"],
      ...["output ahead - -", "done ahead - -"],
    ]);
  });

  test("a prediction under way has its container pulled and started", () => {
    const frames: Frames = [
      [0, pending],
      [2, started(), setup("pulling")],
      [3, setup("pulling")],
      [7, setup("starting")],
    ];
    const steps = timeline(momentsOf(frames), row("started", 2));
    expect(told(steps)).toEqual([
      ...["created past 0 -", "queued past 0 2", "setup current 2 -", "started ahead - -"],
      ...["output ahead - -", "done ahead - -"],
    ]);
    expect(steps[2]?.phases).toEqual([
      { phase: "pulling", at: T + 2_000, seconds: 5 },
      { phase: "starting", at: T + 7_000, seconds: null },
    ]);
  });

  test("a prediction under way runs and has output", () => {
    const frames: Frames = [
      [0, pending],
      [1, started(), setup("starting")],
      [3, setup("ready")],
      [3.5, output],
      [4, output],
    ];
    expect(told(timeline(momentsOf(frames), row("started", 1)))).toEqual([
      ...["created past 0 -", "queued past 0 1", "setup past 1 2", "started current 3 -"],
      ...["output past 3.5 0.5", "done ahead - -"],
    ]);
  });

  const LOST: Frames = [
    [0, pending],
    [1, started(1), setup("pulling")],
    [31, lost(1)],
  ];

  test("a prediction whose runner was lost does not run, and its next attempt waits", () => {
    const moments = momentsOf(LOST);
    expect(told(timeline(moments, row("started", 31)))).toEqual([
      ...["created past 0 -", "failed past 1 30", "queued current 31 -", "setup ahead - -"],
      ...["started ahead - -", "output ahead - -", "done ahead - -"],
    ]);
  });

  test("the timeline of several runners has the last one, and the time of the others apart", () => {
    const moments = momentsOf([...LOST, [60, started(2), setup("starting")]]);
    const steps = timeline(moments, row("started", 60));
    expect(told(steps).slice(0, 4)).toEqual([
      "created past 0 -",
      "failed past 1 30",
      "queued past 31 30",
      "setup current 60 -",
    ]);
    expect(steps[3]?.phases).toEqual([{ phase: "starting", at: T + 60_000, seconds: null }]);
  });

  test("the timeline of a prediction that was handed back says so", () => {
    const back: LogEvent = { event: "status", data: { status: "started", returned: 1 } };
    const frames: Frames = [
      [0, pending],
      [1, started(1)],
      [3, back],
    ];
    const [, failed] = timeline(momentsOf(frames), row("started", 3));
    expect(failed).toMatchObject({ kind: "failed", attempt: { number: 1, reason: "returned" } });
  });
});

describe("ended", () => {
  test("an ended prediction has all the steps that it had under way", () => {
    const frames: Frames = [
      [0, pending],
      [1, started(), setup("starting")],
      [3, setup("ready")],
      [4, output],
      [9, output, ...end("succeeded")],
    ];
    const steps = told(timeline(momentsOf(frames), row("succeeded", 9, 2.5, 6)));
    expect(steps).toEqual([
      // The setup is as long as the runner measured: lists and the API have that figure, too.
      ...["created past 0 -", "queued past 0 1", "setup past 1 2.5", "started past 3 6"],
      ...["output past 4 1", "done past 9 9"],
    ]);
    const underWay = told(timeline(momentsOf(frames.slice(0, -1)), row("started", 1)));
    const known = underWay.filter((step) => step.includes("past") && !step.startsWith("setup"));
    expect(known.filter((step) => !steps.includes(step))).toEqual([]);
  });

  test("steps that arrive in one frame are timed by the measures of the runner", () => {
    const frames: Frames = [
      [0, pending],
      [1, started(), setup("ready"), output],
      [9, output, ...end("succeeded")],
    ];
    const underWay = timeline(momentsOf(frames.slice(0, -1)), row("started", 1));
    expect(told(underWay)).toEqual([
      ...["created past 0 -", "queued past 0 1", "setup past 1 -", "started current 1 -"],
      ...["output past 1 -", "done ahead - -"],
    ]);
    expect(told(timeline(momentsOf(frames), row("succeeded", 9, 0.25, 8.5)))).toEqual([
      ...["created past 0 -", "queued past 0 1", "setup past 1 0.25", "started past 1 8.5"],
      ...["output past 1 0.5", "done past 9 9"],
    ]);
  });

  test("an ended prediction has the time of a lost attempt apart", () => {
    const frames: Frames = [
      [0, pending],
      [1, started(1), setup("starting")],
      [31, lost(1)],
      [41, started(2), setup("starting")],
      [43, setup("ready")],
      [49, output, ...end("succeeded")],
    ];
    expect(told(timeline(momentsOf(frames), row("succeeded", 49, 2, 6)))).toEqual([
      ...["created past 0 -", "failed past 1 30", "queued past 31 11", "setup past 41 2"],
      ...["started past 43 6", "output past 49 6", "done past 49 49"],
    ]);
  });

  test("a short run is timed by the measures of its runner, because all of it came at once", () => {
    const frames: Frames = [
      [0, pending],
      [1, started(), setup("ready"), output, ...end("succeeded")],
    ];
    expect(told(timeline(momentsOf(frames), row("succeeded", 1, 0.25, 0.5)))).toEqual([
      ...["created past 0 -", "queued past 0 0.25", "setup past 0.25 0.25", "started past 0.5 0.5"],
      ...["output past 1 0.5", "done past 1 1"],
    ]);
  });

  test("a prediction that was cancelled before a runner had it has an end", () => {
    const frames: Frames = [
      [0, pending],
      [5, ...end("canceled")],
    ];
    expect(told(timeline(momentsOf(frames), row("canceled", 5)))).toEqual([
      "created past 0 -",
      "queued past 0 5",
      "done past 5 5",
    ]);
  });

  test("a prediction that failed in its setup has an end", () => {
    const frames: Frames = [
      [0, pending],
      [1, started(), setup("pulling")],
      [4, ...end("failed")],
    ];
    const steps = timeline(momentsOf(frames), row("failed", 4));
    expect(told(steps)).toEqual([
      "created past 0 -",
      "queued past 0 1",
      "setup past 1 3",
      "done past 4 4",
    ]);
    expect(steps[2]?.phases).toEqual([{ phase: "pulling", at: T + 1_000, seconds: 3 }]);
  });

  test("a prediction whose log is gone has the steps of its row", () => {
    expect(told(timeline(NO_MOMENTS, row("succeeded", 9, 2, 6)))).toEqual([
      ...["created past 0 -", "queued past 0 1", "setup past 1 2", "started past 3 6"],
      ...["done past 9 9"],
    ]);
  });
});

describe("whatever the clocks say", () => {
  const seconds = fc.double({ min: -5, max: 50, noNaN: true });
  const event = fc.constantFrom(
    ...[
      pending,
      started(1),
      started(2),
      lost(1),
      setup("pulling"),
      setup("starting"),
      setup("ready"),
      output,
    ],
  );
  const measured = fc.option(fc.double({ min: 0, max: 60, noNaN: true }), { nil: undefined });
  const status = fc.constantFrom<TaskStatus>("pending", "started", "succeeded", "failed");

  test("no step takes less than no time or is before the creation, and the order stays", () => {
    const frames = fc.array(fc.tuple(seconds, event), { maxLength: 12 });
    fc.assert(
      fc.property(frames, status, measured, measured, (all, is, setupTime, runTime) => {
        const steps = timeline(momentsOf(all), row(is, 20, setupTime, runTime));
        const order = ["created", "failed", "queued", "setup", "started", "output", "done"];
        const places = steps.map(({ kind }) => order.indexOf(kind));
        expect(places).toEqual(places.toSorted((a, b) => a - b));
        for (const { at, seconds: took, phases = [] } of steps) {
          if (at !== null) expect(at).toBeGreaterThanOrEqual(T);
          for (const one of [took, ...phases.map((phase) => phase.seconds)])
            if (one !== null) expect(one).toBeGreaterThanOrEqual(0);
        }
      }),
    );
  });
});
