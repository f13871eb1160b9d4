import { expect, test, vi } from "vitest";
import { type EventsFrame, eventsFrame } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { MAX_OUTPUTS, setupProgress } from "../../../src/protocol/event.ts";
import { FRAME_BYTES } from "../../../src/run/frame.ts";
import { Reporter } from "../../../src/run/reporter.ts";

function reporter(limits = { output_bytes: 10_000_000, logs_bytes: 10_000_000 }) {
  const onChange = vi.fn();
  const onBreach = vi.fn();
  return { reporter: new Reporter({ limits, onChange, onBreach }), onChange, onBreach };
}

/** Returns the events and the finish as a frame has them. */
function taken(it: Reporter): Pick<EventsFrame, "events" | "finish"> {
  const { events, ...rest } = it.take();
  return { events: events.map((text) => JSON.parse(text)), ...rest };
}

const DONE = { status: "succeeded", output: "items" } as const;

test("adjacent logs and metrics merge, and the order of all other events stays", () => {
  const { reporter: it } = reporter();
  it.setup({ phase: "pulling", progress: 0.1, logs: "a" });
  it.setup({ phase: "pulling", progress: 0.9, logs: "b" });
  it.setup({ phase: "ready" });
  it.logs("one ");
  it.logs("two");
  it.output("x");
  it.output("y");
  it.logs("three");
  it.metrics({ a: 1, b: 1 });
  it.metrics({ b: 2 });
  it.finish(DONE);
  expect(taken(it)).toEqual({
    events: [
      { event: "setup", data: { phase: "pulling", progress: 0.9, logs: "ab" } },
      { event: "setup", data: { phase: "ready" } },
      { event: "logs", data: "one two" },
      { event: "output", data: "x" },
      { event: "output", data: "y" },
      { event: "logs", data: "three" },
      { event: "metrics", data: { a: 1, b: 2 } },
    ],
    finish: DONE,
  });
});

test("the first output and the end are urgent, later outputs are not", () => {
  const { reporter: it } = reporter();
  it.logs("loading");
  expect(it.urgent).toBe(false);
  it.output(1);
  expect(it.urgent).toBe(true);
  taken(it);
  it.output(2);
  expect(it.urgent).toBe(false);
  it.finish(DONE);
  expect(it.urgent).toBe(true);
});

test("a portion stays within its size, and a larger event is sent alone", () => {
  const { reporter: it } = reporter();
  const large = "x".repeat(FRAME_BYTES * 2);
  for (let i = 0; i < 3; i++) it.output("y".repeat(100_000));
  it.output(large);
  it.output("last");
  it.finish(DONE);
  const portions = [taken(it), taken(it), taken(it), taken(it)];
  expect(portions.map(({ events }) => events.length)).toEqual([2, 1, 1, 1]);
  expect(portions[2]?.events[0]?.data).toBe(large);
  expect(portions.map(({ finish }) => finish)).toEqual([undefined, undefined, undefined, DONE]);
});

test("a portion has at most as many events as the protocol allows", () => {
  const { reporter: it } = reporter();
  for (let i = 0; i < 11_000; i++) i % 2 === 0 ? it.output(0) : it.logs(".");
  expect(eventsFrame.safeParse({ type: "events", seq: 1, ...taken(it) }).success).toBe(true);
});

test("too much output is a breach, reported once with the number", () => {
  const { reporter: it, onBreach } = reporter({ output_bytes: 100, logs_bytes: 100 });
  it.output("fits");
  it.output("x".repeat(100));
  it.output("fits again");
  expect(onBreach).toHaveBeenCalledExactlyOnceWith(
    "The output is larger than the limit of 100 bytes",
  );
  expect(taken(it).events).toEqual([{ event: "output", data: "fits" }]);
});

test("token usage is reported even without room, and many metrics are not", () => {
  const { reporter: it } = reporter({ output_bytes: 1_000, logs_bytes: 100 });
  it.output("x".repeat(2_000));
  it.metrics({ ["x".repeat(100)]: 1, ["y".repeat(100)]: 2, ["z".repeat(100)]: 3 });
  expect(it.empty).toBe(true);
  const metrics = { input_tokens: 1, output_tokens: 500, tokens_estimated: 1 };
  it.metrics(metrics);
  expect(taken(it).events).toEqual([{ event: "metrics", data: metrics }]);
});

test("too many outputs are a breach, reported once with the number", () => {
  const { reporter: it, onBreach } = reporter();
  let events = 0;
  for (let n = 0; n < MAX_OUTPUTS - 1; n++) {
    it.output(0);
    if (n % 5_000 === 0) events += it.take().events.length;
  }
  it.storedOutput({ name: "v1", size: 1 });
  expect(onBreach).not.toHaveBeenCalled();
  it.outputJson("1");
  it.output(2);
  it.storedOutput({ name: "v2", size: 1 });
  expect(onBreach).toHaveBeenCalledExactlyOnceWith(
    "The output has more than the limit of 200000 items: combine several items into one",
  );
  while (!it.empty) events += it.take().events.length;
  expect(events).toBe(MAX_OUTPUTS);
});

test("logs are cut once, between characters, within the limit, and say so", () => {
  const { reporter: it } = reporter({ output_bytes: 100, logs_bytes: 104 });
  it.setup({ phase: "starting", logs: "0123456789" });
  it.logs("ä".repeat(100));
  it.logs("never seen");
  it.setup({ phase: "ready", logs: "never seen" });
  const [setup, logs, ready] = taken(it).events;
  expect(setup?.data).toEqual({ phase: "starting", logs: "0123456789" });
  expect(logs?.data).toMatch(
    /^ä+\n\[auspex\] Log truncated: it is longer than the limit of 104 bytes\.\n$/,
  );
  expect(10 + Buffer.byteLength(String(logs?.data))).toBeLessThanOrEqual(104);
  expect(ready?.data).toEqual({ phase: "ready" });
});

test.each<[string, Json, Json]>([
  [
    "a role",
    { choices: [{ delta: { role: "assistant", content: "" } }] },
    { choices: [{ delta: { content: "a" } }] },
  ],
  [
    "a response's beginning",
    { type: "response.created", response: {} },
    { type: "response.output_text.delta", delta: "a" },
  ],
])(
  "an output without content is not urgent, and the first with content is: %s",
  (_, preamble, said) => {
    const { reporter: it } = reporter();
    it.output(preamble);
    expect([it.hasOutput, it.urgent]).toEqual([true, false]);
    taken(it);
    it.output(said);
    expect(it.urgent).toBe(true);
    taken(it);
    it.output(said);
    expect(it.urgent).toBe(false);
  },
);

test("a reporter knows whether the model has begun and whether it has output", () => {
  const { reporter: it } = reporter();
  it.setup({ phase: "starting" });
  expect(it.started).toBe(false);
  it.setup({ phase: "ready" });
  expect([it.started, it.hasOutput]).toEqual([true, false]);
  it.output(null);
  expect(it.hasOutput).toBe(true);
});

test("a stored value is an output, takes its room, and merges with nothing", () => {
  const { reporter: it, onBreach } = reporter({ output_bytes: 1_000, logs_bytes: 100 });
  it.metrics({ a: 1 });
  expect(it.reserve(600)).toBe(true);
  it.storedOutput({ name: "v1", size: 600 });
  it.storedOutput({ name: "v2", size: 1 });
  expect([it.hasOutput, it.urgent]).toEqual([true, true]);
  expect(taken(it).events.slice(1)).toEqual([
    { event: "stored", data: { name: "v1", size: 600 } },
    { event: "stored", data: { name: "v2", size: 1 } },
  ]);
  expect(it.urgent).toBe(false);
  expect(it.reserve(600)).toBe(false);
  expect(onBreach).toHaveBeenCalledExactlyOnceWith(
    "The output is larger than the limit of 1000 bytes",
  );
  it.storedOutput({ name: "v3", size: 600 });
  expect(it.empty).toBe(true);
});

/** The largest frame that the control plane accepts, in UTF-16 units. */
const MAX_FRAME = 600_000;

function framesOf(it: Reporter): EventsFrame[] {
  const frames: EventsFrame[] = [];
  while (!it.empty && !frames.at(-1)?.finish) {
    const text = JSON.stringify({ type: "events", seq: frames.length + 1, ...taken(it) });
    expect(text.length).toBeLessThan(MAX_FRAME);
    frames.push(eventsFrame.parse(JSON.parse(text)));
  }
  return frames;
}

test.each([
  ["ASCII", "x"],
  ["escapes", "\u0001"],
  ["pairs", "\u{1F600}"],
  ["a pair out of step", "x\u{1F600}"],
])("long logs of %s are split and lose nothing", (_name, unit) => {
  const { reporter: it } = reporter();
  const logs = unit.repeat(2_000_000 / Buffer.byteLength(unit));
  it.setup({ phase: "starting", message: "loading", logs });
  it.logs(logs);
  it.output("end");
  it.finish({ ...DONE, error: { source: "internal", message: "\u0001".repeat(10_000) } });
  const events = framesOf(it).flatMap((frame) => frame.events);
  const texts = (name: string) => events.filter(({ event }) => event === name);
  const setup = texts("setup").map(({ data }) => setupProgress.parse(data));
  expect(setup.map((data) => data.logs).join("")).toBe(logs);
  expect(new Set(setup.map(({ message }) => message))).toEqual(new Set(["loading"]));
  expect(
    texts("logs")
      .map(({ data }) => data)
      .join(""),
  ).toBe(logs);
  for (const { data } of texts("logs")) expect(String(data).isWellFormed()).toBe(true);
  expect(events.at(-1)).toEqual({ event: "output", data: "end" });
});

test("many metrics are split and lose nothing", () => {
  const { reporter: it } = reporter();
  const names = Array.from({ length: 10_000 }, (_, i) => `${i}`.padEnd(100, "\u0001"));
  const metrics = Object.fromEntries(names.map((name) => [name, 1.234567890123e-100]));
  it.metrics(metrics);
  it.finish(DONE);
  const events = framesOf(it).flatMap((frame) => frame.events);
  expect(Object.assign({}, ...events.map(({ data }) => data))).toEqual(metrics);
});
