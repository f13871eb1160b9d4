/** A seed's plan, which is always the same and can be carried out. */
import { expect, test } from "vitest";
import { callsOf } from "./calls.ts";
import { changesOf, takes, watchedCalls } from "./changes.ts";
import { endpointsOf } from "./endpoints.ts";
import { faultsOf, nameOf } from "./faults.ts";
import { NAMES } from "./teams.ts";

const MINUTE = 60_000;
const RUNNERS = 3;
const WEATHER = { runners: RUNNERS, duration: MINUTE, strength: 1 };

test("the same seed gives the same calls and the same faults, another seed others", () => {
  expect(callsOf(7, 200, MINUTE)).toEqual(callsOf(7, 200, MINUTE));
  expect(faultsOf(7, WEATHER)).toEqual(faultsOf(7, WEATHER));
  expect(callsOf(8, 200, MINUTE)).not.toEqual(callsOf(7, 200, MINUTE));
  expect(faultsOf(8, WEATHER)).not.toEqual(faultsOf(7, WEATHER));
});

test("calls are of every kind, in their order and within the storm", () => {
  const calls = callsOf(1, 500, MINUTE);
  const kinds = new Set(calls.map(({ work }) => work.kind));
  expect([...kinds].toSorted()).toEqual([
    "abandoned",
    "chat",
    "embedding",
    "hello",
    "large",
    "picture",
    "response",
    "stream",
    "sums",
  ]);
  const times = calls.map(({ at }) => at);
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(times.every((at) => at >= 0 && at < MINUTE)).toBe(true);
  expect(new Set(calls.map(({ mark }) => mark)).size).toBe(500);
  for (const some of ["parallel", "webhook", "cancelAfter"] as const)
    expect(calls.some((call) => call[some] !== undefined)).toBe(true);
});

test("the behaviours of endpoints are the same for a seed, and end in a success", () => {
  expect(endpointsOf(7)).toEqual(endpointsOf(7));
  expect(endpointsOf(8)).not.toEqual(endpointsOf(7));
  for (const { meets } of endpointsOf(7)) expect(meets.at(-1)).toEqual({ status: 200 });
});

test("faults are of every target, over by the end, and no two of a target at a time", () => {
  const faults = faultsOf(1, { ...WEATHER, duration: 10 * MINUTE });
  const byTarget = Map.groupBy(faults, ({ target }) => nameOf(target));
  expect(byTarget.size).toBe(3 + 3 * RUNNERS);
  for (const own of byTarget.values()) {
    for (const [n, { at, ms }] of own.entries())
      expect(at + ms).toBeLessThan(own[n + 1]?.at ?? 10 * MINUTE + 1);
  }
  const hows = new Set(faults.map(({ how }) => how));
  expect([...hows].toSorted()).toEqual([
    "cut",
    "delay",
    "drain",
    "kill",
    "pause",
    "power cut",
    "refuse",
    "reset",
    "swallow",
  ]);
});

test("callers of each kind make calls, and share their keys", () => {
  const calls = callsOf(1, 500, MINUTE);
  expect(new Set(calls.map(({ by }) => by)).size).toBe(NAMES.length - 1);
  const keyed = calls.filter(({ parallel }) => parallel);
  const first = keyed.filter(({ key }) => key === 0);
  expect(first.length).toBe(NAMES.length - 1);
});

test("each change of access comes in the middle of the storm, while its loser reads a stream", () => {
  const changes = changesOf(1, MINUTE);
  expect(changes).toEqual(changesOf(1, MINUTE));
  const watched = watchedCalls(changes, 500);
  for (const [n, { what, at }] of changes.entries()) {
    const call = watched[n];
    const [reader] = call?.readers ?? [];
    expect(at).toBeGreaterThanOrEqual(0.2 * MINUTE);
    expect(at).toBeLessThanOrEqual(0.6 * MINUTE);
    expect(call && reader?.by && takes(what, reader.by, call)).toBe(true);
  }
});

test("a stronger storm breaks more", () => {
  const weak = faultsOf(1, WEATHER);
  const strong = faultsOf(1, { ...WEATHER, strength: 3 });
  expect(strong.length).toBeGreaterThan(1.5 * weak.length);
});
