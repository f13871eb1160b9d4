import { expect, test, vi } from "vitest";
import { FRAME_BYTES, Reporter } from "../../runner/src/reporter.ts";
import { eventsFrame } from "../../src/protocol/channel.ts";

function reporter(limits = { output_bytes: 10_000_000, logs_bytes: 10_000_000 }) {
  const onChange = vi.fn();
  const onBreach = vi.fn();
  return { reporter: new Reporter({ limits, onChange, onBreach }), onChange, onBreach };
}

const DONE = { status: "succeeded", output: "items" } as const;

test("adjacent logs and metrics merge, the order of all else stays", () => {
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
  expect(it.take()).toEqual({
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

test("the first output is urgent, later ones are not, the end is", () => {
  const { reporter: it } = reporter();
  it.logs("loading");
  expect(it.urgent).toBe(false);
  it.output(1);
  expect(it.urgent).toBe(true);
  it.take();
  it.output(2);
  expect(it.urgent).toBe(false);
  it.finish(DONE);
  expect(it.urgent).toBe(true);
});

test("a portion stays within its size, and a larger event travels alone", () => {
  const { reporter: it } = reporter();
  const large = "x".repeat(FRAME_BYTES * 2);
  for (let i = 0; i < 3; i++) it.output("y".repeat(100_000));
  it.output(large);
  it.output("last");
  it.finish(DONE);
  const portions = [it.take(), it.take(), it.take(), it.take()];
  expect(portions.map(({ events }) => events.length)).toEqual([2, 1, 1, 1]);
  expect(portions[2]?.events[0]?.data).toBe(large);
  expect(portions.map(({ finish }) => finish)).toEqual([undefined, undefined, undefined, DONE]);
});

test("no more events in a portion than the protocol takes", () => {
  const { reporter: it } = reporter();
  for (let i = 0; i < 11_000; i++) i % 2 === 0 ? it.output(0) : it.logs(".");
  expect(eventsFrame.safeParse({ type: "events", seq: 1, ...it.take() }).success).toBe(true);
});

test("too much output is a breach, told once, with the number", () => {
  const { reporter: it, onBreach } = reporter({ output_bytes: 100, logs_bytes: 100 });
  it.output("fits");
  it.output("x".repeat(100));
  it.output("fits again");
  it.metrics({ a: 1 });
  expect(onBreach).toHaveBeenCalledExactlyOnceWith(
    "The output is larger than the limit of 100 bytes",
  );
  expect(it.take().events).toEqual([{ event: "output", data: "fits" }]);
});

test("logs are cut once, between characters, within the limit, and say so", () => {
  const { reporter: it } = reporter({ output_bytes: 100, logs_bytes: 104 });
  it.setup({ phase: "starting", logs: "0123456789" });
  it.logs("ä".repeat(100));
  it.logs("never seen");
  it.setup({ phase: "ready", logs: "never seen" });
  const [setup, logs, ready] = it.take().events;
  expect(setup?.data).toEqual({ phase: "starting", logs: "0123456789" });
  expect(logs?.data).toMatch(
    /^ä+\n\[auspex\] The log is cut here: it is longer than 104 bytes\.\n$/,
  );
  expect(10 + Buffer.byteLength(String(logs?.data))).toBeLessThanOrEqual(104);
  expect(ready?.data).toEqual({ phase: "ready" });
});

test("knows whether the model has begun and whether it has produced", () => {
  const { reporter: it } = reporter();
  it.setup({ phase: "starting" });
  expect(it.begun).toBe(false);
  it.setup({ phase: "ready" });
  expect([it.begun, it.produced]).toEqual([true, false]);
  it.output(null);
  expect(it.produced).toBe(true);
});
