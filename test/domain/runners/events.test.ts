import { expect, test } from "vitest";
import { type RunnerEvent, withEvents } from "../../../src/domain/runners/events.ts";
import { RUNNER_EVENT_KINDS } from "../../../src/protocol/runner-log.ts";

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
