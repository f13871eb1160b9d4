/** The spans of predictions: their times, parents, names and errors. */
import { expect, test } from "vitest";
import { spansOf } from "../../../src/domain/predictions/spans.ts";
import {
  initialState,
  type PredictionSpec,
  type PredictionState,
  presentPrediction,
} from "../../../src/domain/predictions/state.ts";
import { NO_MOMENTS, withEvent } from "../../../src/domain/predictions/timeline.ts";
import { spanIdOf, type Trace } from "../../../src/domain/predictions/trace.ts";
import type { LogEvent } from "../../../src/protocol/event.ts";
import { NOW, specWith } from "../predictions/samples.ts";
import { attributeOf, otlpSpans } from "./otlp.ts";

const SECRET = "the-secret-of-the-prompt";

const TRACE: Trace = {
  trace_id: "4bf92f3577b34da6a3ce929d0e0e4736",
  parent_id: null,
  span_id: "00f067aa0ba902b7",
  route: "POST /v1/predictions",
};

const started = (attempt: number): LogEvent => ({
  event: "status",
  data: { status: "started", attempt },
});
const setup = (phase: "pulling" | "starting" | "ready"): LogEvent => ({
  event: "setup",
  data: { phase },
});
const output: LogEvent = { event: "output", data: SECRET };

/** Frames of a log: the seconds after the creation at which each was written, and its events. */
type Frames = [number, ...LogEvent[]][];

const attempt = (number: number, opened: number) => ({
  number,
  secret: "s",
  opened_at: NOW + opened * 1_000,
  contact: "finished" as const,
  started_at: NOW + opened * 1_000,
  ready_at: null,
  runner_id: "019a0000-0000-7000-8000-00000000000a",
  last_seen_at: null,
  second_at: null,
  grace_granted: false,
  stored: 0,
});

/** Returns the spans of a prediction with this log that ended after so many seconds. */
function traced(
  ended: number,
  frames: Frames,
  changes: Partial<PredictionState> = {},
  spec: PredictionSpec = specWith(),
  trace = TRACE,
) {
  const at = NOW + ended * 1_000;
  const end = { status: "succeeded" as const, completed_at: at, updated_at: at };
  const state: PredictionState = { ...initialState(spec), ...end, ...changes };
  let moments = NO_MOMENTS;
  for (const [seconds, ...events] of frames)
    for (const event of events) moments = withEvent(moments, event, NOW + seconds * 1_000);
  const times = presentPrediction(spec, state);
  const facts = { times, moments: { ...moments, ended: at } };
  return otlpSpans.parse(spansOf(trace, spec, state, facts));
}

type Traced = ReturnType<typeof traced>;

const secondsOf = (nanoseconds: string) =>
  Number(BigInt(nanoseconds) - BigInt(NOW) * 1_000_000n) / 1e9;

/** Returns each span as `name begin-end`, in seconds since the creation, with the name of its parent. */
const shown = (spans: Traced) =>
  spans.map(({ name, parentSpanId, startTimeUnixNano, endTimeUnixNano }) => {
    const parent = spans.find(({ spanId }) => spanId === parentSpanId)?.name;
    const times = [startTimeUnixNano, endTimeUnixNano].map(secondsOf).join("-");
    return `${name} ${times}${parent === undefined ? "" : ` in ${parent}`}`;
  });

const errors = (spans: Traced) =>
  spans
    .filter(({ status }) => status?.code === 2)
    .map((span) => `${span.name}: ${attributeOf(span, "error.type")}`);

const named = (spans: Traced, name: string) => {
  const found = spans.find((span) => span.name === name);
  if (!found) throw new Error(`no span ${name}`);
  return found;
};

test("a trace has the request, the wait, the setup with its phases, and the run", () => {
  const spans = traced(
    30,
    [
      [2, started(1), setup("pulling")],
      [12, setup("starting")],
      [20, setup("ready")],
      [21, output],
    ],
    {
      attempt: attempt(1, 2),
      setup_seconds: 18,
      execution_seconds: 9.5,
      metrics: { input_tokens: 100, cached_tokens: 40, output_tokens: 7 },
    },
    specWith({ call: "chat_completions", interface: "vendora" }),
  );
  expect(shown(spans)).toEqual([
    "POST /v1/predictions 0-30",
    "queue 0-2 in POST /v1/predictions",
    "setup 2-20 in POST /v1/predictions",
    "pull 2-12 in setup",
    "start 12-20 in setup",
    "chat ada/story 20-29.5 in POST /v1/predictions",
  ]);
  expect(errors(spans)).toEqual([]);
  expect(spans.map(({ kind }) => kind)).toEqual([2, 1, 1, 1, 1, 3]);
  expect(new Set(spans.map(({ traceId }) => traceId))).toEqual(new Set([TRACE.trace_id]));
  const run = named(spans, "chat ada/story");
  expect(run.spanId).toBe(spanIdOf(TRACE, 1, "run"));
  expect(run.attributes).toEqual([
    { key: "auspex.prediction.id", value: { stringValue: specWith().id } },
    { key: "gen_ai.operation.name", value: { stringValue: "chat" } },
    { key: "gen_ai.provider.name", value: { stringValue: "auspex" } },
    { key: "gen_ai.request.model", value: { stringValue: "ada/story" } },
    { key: "gen_ai.usage.input_tokens", value: { intValue: "100" } },
    { key: "gen_ai.usage.cache_read.input_tokens", value: { intValue: "40" } },
    { key: "gen_ai.usage.output_tokens", value: { intValue: "7" } },
    { key: "gen_ai.response.time_to_first_chunk", value: { doubleValue: 1 } },
    { key: "auspex.version", value: { intValue: "1" } },
    { key: "auspex.hardware", value: { stringValue: "cpu" } },
    { key: "auspex.runner.id", value: { stringValue: attempt(1, 2).runner_id } },
  ]);
  expect(named(spans, TRACE.route).attributes).toEqual([
    { key: "auspex.prediction.id", value: { stringValue: specWith().id } },
    { key: "http.request.method", value: { stringValue: "POST" } },
    { key: "http.route", value: { stringValue: "/v1/predictions" } },
    { key: "auspex.hardware", value: { stringValue: "cpu" } },
    { key: "auspex.priority", value: { stringValue: "normal" } },
    { key: "auspex.status", value: { stringValue: "succeeded" } },
  ]);
});

test("the run of a short prediction, whose only report is its last, has the runner's times", () => {
  const spans = traced(1, [[1, started(1), setup("ready"), output]], {
    attempt: attempt(1, 0.125),
    setup_seconds: 0.25,
    execution_seconds: 0.5,
  });
  expect(shown(spans)).toEqual([
    "POST /v1/predictions 0-1",
    "queue 0-0.25 in POST /v1/predictions",
    "setup 0.25-0.5 in POST /v1/predictions",
    "predict ada/story 0.5-1 in POST /v1/predictions",
  ]);
  // The output came with the end: nobody knows when the first of it was there.
  const run = named(spans, "predict ada/story");
  expect(attributeOf(run, "gen_ai.response.time_to_first_chunk")).toBeUndefined();
});

test("a trace of the caller has the request as a child of the caller's span", () => {
  const parent_id = "b7ad6b7169203331";
  const spans = traced(1, [], {}, specWith(), { ...TRACE, parent_id });
  expect(spans[0]).toMatchObject({ spanId: TRACE.span_id, parentSpanId: parent_id });
});

test("each attempt that failed is a span with its reason, between two waits", () => {
  const spans = traced(
    20,
    [
      [1, started(1), setup("ready")],
      [4, { event: "status", data: { status: "started", lost: 1 } }],
      [6, started(3), setup("starting")],
      [8, { event: "status", data: { status: "started", returned: 3 } }],
      [10, started(4)],
      [12, setup("ready")],
    ],
    { attempt: attempt(4, 10), setup_seconds: 2, execution_seconds: 8 },
  );
  expect(shown(spans)).toEqual([
    "POST /v1/predictions 0-20",
    "queue 0-1 in POST /v1/predictions",
    "attempt 1-4 in POST /v1/predictions",
    "queue 4-6 in POST /v1/predictions",
    "attempt 6-8 in POST /v1/predictions",
    "queue 8-10 in POST /v1/predictions",
    "setup 10-12 in POST /v1/predictions",
    "predict ada/story 12-20 in POST /v1/predictions",
  ]);
  expect(errors(spans)).toEqual(["attempt: lost", "attempt: returned"]);
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  expect(spans[2]?.spanId).toBe(spanIdOf(TRACE, 1, "run"));
  expect(spans[4]?.spanId).toBe(spanIdOf(TRACE, 3, "run"));
});

test("a failure is at the step that failed and at the request, by its source alone", () => {
  const failed = (source: "internal" | "external") => ({
    status: "failed" as const,
    error: { source, message: SECRET, detail: null },
  });
  const frames: Frames = [
    [1, started(1)],
    [2, setup("ready")],
  ];
  const last = { attempt: attempt(1, 1) };
  const inRun = traced(5, frames, { ...failed("external"), ...last, execution_seconds: 3 });
  expect(errors(inRun)).toEqual([`${TRACE.route}: external`, "predict ada/story: external"]);
  const inSetup = traced(5, frames.slice(0, 1), { ...failed("external"), ...last });
  expect(errors(inSetup)).toEqual([`${TRACE.route}: external`, "setup: external"]);
  const waiting = traced(5, [], failed("internal"));
  expect(shown(waiting)).toEqual(["POST /v1/predictions 0-5", "queue 0-5 in POST /v1/predictions"]);
  expect(errors(waiting)).toEqual([`${TRACE.route}: internal`, "queue: internal"]);
  expect(JSON.stringify([inRun, inSetup, waiting])).not.toContain(SECRET);
});

test("a prediction that was canceled has no error", () => {
  const spans = traced(5, [[1, started(1), setup("ready")]], {
    status: "canceled",
    attempt: attempt(1, 1),
  });
  expect(errors(spans)).toEqual([]);
  expect(attributeOf(named(spans, TRACE.route), "auspex.status")).toBe("canceled");
});

test.each([
  ["responses", "chat"],
  ["messages", "chat"],
  ["completions", "text_completion"],
  ["embeddings", "embeddings"],
  ["rerank", "predict"],
  [null, "predict"],
] as const)("the operation of a call of %s is %s", (call, operation) => {
  const frames: Frames = [[1, started(1), setup("ready")]];
  const spans = traced(2, frames, { attempt: attempt(1, 1) }, specWith({ call }));
  expect(attributeOf(named(spans, `${operation} ada/story`), "gen_ai.operation.name")).toBe(
    operation,
  );
});

test("no span begins before the prediction or ends before it begins, whatever a runner measures", () => {
  const spans = traced(1, [[1, started(1), setup("ready"), output]], {
    attempt: attempt(1, 0.5),
    setup_seconds: 1e6,
    execution_seconds: 1e7,
  });
  for (const { startTimeUnixNano, endTimeUnixNano } of spans) {
    expect(secondsOf(startTimeUnixNano)).toBeGreaterThanOrEqual(0);
    expect(secondsOf(endTimeUnixNano)).toBeLessThanOrEqual(1);
  }
});
