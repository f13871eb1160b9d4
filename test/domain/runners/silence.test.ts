/** The time after which a runner counts as silent. */
import { expect, test } from "vitest";
import { isResponding, silenceOf } from "../../../src/domain/runners/silence.ts";

const NOW = Date.parse("2026-07-01T12:00:00.000Z");

/** Returns the seconds after which the runner is missed, up to 120. */
function missedAfter(runner: Partial<Parameters<typeof silenceOf>[0]>): number | undefined {
  const known = { state: "ready", draining: false, connected: false, ...runner } as const;
  for (let seconds = 0; seconds < 120; seconds++) {
    const last_seen_at = new Date(NOW - seconds * 1_000).toISOString();
    const heard = { ...known, last_seen_at };
    const silent = silenceOf(heard, NOW);
    if (silent === undefined) continue;
    expect([silent, isResponding(heard, NOW)]).toEqual([seconds * 1_000, false]);
    return seconds;
  }
  return undefined;
}

test("a runner that should poll is missed soon", () => {
  expect(missedAfter({})).toBe(10);
  expect(missedAfter({ connected: true })).toBeUndefined();
});

test("a runner that only reports is missed once a report is late", () => {
  expect(missedAfter({ draining: true })).toBe(45);
  expect(missedAfter({ state: "draining" })).toBe(45);
  expect(missedAfter({ state: "draining", draining: true, connected: null })).toBe(45);
});

test("a runner that its pool has given up, or whose pool does not answer, is not called well", () => {
  expect(missedAfter({ connected: null })).toBe(45);
});

test("a runner that is gone is neither missed nor heard", () => {
  for (const state of ["offline", "stopped", "unknown"] as const)
    expect(missedAfter({ state })).toBeUndefined();
  const gone = { draining: false, connected: null, last_seen_at: null };
  expect(isResponding({ ...gone, state: "offline" }, NOW)).toBe(false);
  expect(isResponding({ ...gone, state: "unknown" }, NOW)).toBe(true);
});
