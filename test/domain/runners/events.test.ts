import { expect, test } from "vitest";
import { type RunnerEvent, withEvents } from "../../../src/domain/runners/events.ts";

const event = (at: number, detail = ""): RunnerEvent => ({ at, kind: "started", detail });

test("events stay in the order of their times, whenever they are told", () => {
  const all = withEvents([event(1), event(5)], [event(7), event(3)]);
  expect(all.map(({ at }) => at)).toEqual([1, 3, 5, 7]);
});

test("one that is told twice stays one", () => {
  expect(withEvents([event(1)], [event(1), event(1, "other"), event(1, "other")])).toHaveLength(2);
});

test("the last hundred are kept, and of each no more than a line", () => {
  const many = Array.from({ length: 500 }, (_, at) => event(at, "x".repeat(10_000)));
  const all = withEvents([event(-1)], many);
  expect(all.map(({ at }) => at)).toEqual(Array.from({ length: 100 }, (_, n) => 400 + n));
  expect(JSON.stringify(all).length).toBeLessThan(20_000);
});
