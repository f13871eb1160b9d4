import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FairQueue } from "../../../src/domain/scheduling/fair-queue.ts";
import { NOW } from "../predictions/samples.ts";
import { waitingJob } from "./samples.ts";

const job = (user_id: string, object_id: string, hardware = "cpu") =>
  waitingJob({ user_id, object_id, hardware });

function lineOf(...jobs: [string, string][]): FairQueue {
  const line = new FairQueue();
  for (const [account, id] of jobs) line.add(job(account, id));
  return line;
}

const drain = (line: FairQueue) => {
  const order: string[] = [];
  for (let next = line.next(); next; next = line.next()) order.push(next.object_id);
  return order;
};

test("first in first out within an account", () => {
  expect(drain(lineOf(["a", "a1"], ["a", "a2"], ["a", "a3"]))).toEqual(["a1", "a2", "a3"]);
});

test("in turn among accounts: many of one delay another's first by one", () => {
  const line = lineOf(...Array.from({ length: 1_000 }, (_, n): [string, string] => ["a", `a${n}`]));
  line.next();
  line.add(job("b", "b1"));
  expect([line.next(), line.next()].map((next) => next?.object_id)).toEqual(["a1", "b1"]);
});

test("whoever had a turn comes after those who wait", () => {
  expect(drain(lineOf(["a", "a1"], ["a", "a2"], ["b", "b1"], ["b", "b2"], ["c", "c1"]))).toEqual([
    "a1",
    "b1",
    "c1",
    "a2",
    "b2",
  ]);
});

test("a job whose class has no runner keeps its place, and holds nobody up", () => {
  const line = new FairQueue();
  for (const [account, id, hardware] of [
    ["a", "a1", "wide"],
    ["a", "a2", "cpu"],
    ["b", "b1", "wide"],
    ["c", "c1", "cpu"],
  ] as const)
    line.add(job(account, id, hardware));
  const served = () => line.next(({ hardware }) => hardware === "cpu")?.object_id;
  expect([served(), served(), served()]).toEqual(["a2", "c1", undefined]);
  expect([line.size(), line.size("wide"), line.size("cpu")]).toEqual([2, 2, 0]);
  expect(drain(line)).toEqual(["b1", "a1"]);
});

test("a job that is added again keeps its place", () => {
  const line = lineOf(["a", "a1"], ["a", "a2"], ["a", "a1"]);
  expect(line.size()).toBe(2);
  expect(drain(line)).toEqual(["a1", "a2"]);
});

test("a job can be taken out", () => {
  const line = lineOf(["a", "a1"], ["b", "b1"]);
  line.remove("a1");
  line.remove("unknown");
  expect(line.has(job("a", "a1"))).toBe(false);
  expect(line.has(job("b", "b1"))).toBe(true);
  expect(drain(line)).toEqual(["b1"]);
  expect(line.empty).toBe(true);
});

test("whatever is added and removed, each job comes out once", () => {
  const step = fc.tuple(
    fc.constantFrom("add", "remove", "next"),
    fc.integer({ min: 0, max: 3 }),
    fc.integer({ min: 0, max: 3 }),
  );
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const line = new FairQueue();
      const inside = new Set<string>();
      for (const [what, account, number] of steps) {
        const id = `${account}.${number}`;
        if (what === "add") {
          inside.add(id);
          line.add(job(`${account}`, id));
        } else if (what === "remove") {
          inside.delete(id);
          line.remove(id);
        } else {
          const next = line.next();
          expect(next !== undefined).toBe(inside.size > 0);
          if (next) expect(inside.delete(next.object_id)).toBe(true);
        }
        expect(line.size()).toBe(inside.size);
        expect(line.empty).toBe(inside.size === 0);
      }
      expect(new Set(drain(line))).toEqual(inside);
    }),
  );
});

describe("counting", () => {
  test("takes those in line and those on their way, of one account", () => {
    const line = lineOf(["a", "a1"], ["b", "b1"]);
    line.announce(job("a", "a2"), NOW);
    line.announce(job("b", "b2"), NOW);
    expect(line.count("a", NOW)).toBe(2);
    expect(line.count("c", NOW)).toBe(0);
    expect(line.empty).toBe(false);
    expect(line.size()).toBe(2);
  });

  test("takes a job that has come only once", () => {
    const line = new FairQueue();
    line.announce(job("a", "a1"), NOW);
    line.add(job("a", "a1"));
    expect(line.count("a", NOW)).toBe(1);
  });

  test("forgets what was withdrawn, and what was lost on its way", () => {
    const line = new FairQueue();
    line.announce(job("a", "a1"), NOW);
    line.announce(job("a", "a2"), NOW);
    line.remove("a1");
    expect(line.count("a", NOW + 60_000)).toBe(1);
    expect(line.count("a", NOW + 60_001)).toBe(0);
  });
});
