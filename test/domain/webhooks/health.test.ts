/** The health of an endpoint: which tries change it, and when it is switched off. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type Health, healthAfter, type Try } from "../../../src/domain/webhooks/health.ts";

const DAY = 86_400_000;
const NOW = Date.parse("2026-11-26T12:00:00Z");

const healthy: Health = { enabled: true, failing_since: null, last_error: null, notice: null };
const failing = (days: number, last_error = "responded with status 500"): Health => ({
  ...healthy,
  failing_since: NOW - days * DAY,
  last_error,
});

const success: Try = {
  outcome: { status: 200, error: null },
  isLast: false,
  at: NOW,
  switchOffMs: 5 * DAY,
};
const failure: Try = { ...success, outcome: { status: 500, error: "responded with status 500" } };
const lastFailure: Try = { ...failure, isLast: true };
const gone: Try = {
  ...lastFailure,
  outcome: { status: 410, error: "responded with status 410", final: true },
};

test.each<[string, Health, Try, Partial<Health> | undefined]>([
  ["a success of a healthy endpoint changes nothing", healthy, success, undefined],
  [
    "the first failure begins a failing period",
    healthy,
    failure,
    { failing_since: NOW, last_error: "responded with status 500" },
  ],
  ["a later failure changes nothing", failing(1), failure, undefined],
  ["a failure after days changes nothing", failing(50), failure, undefined],
  [
    "a failure that began before the first changes nothing",
    failing(0),
    { ...failure, at: NOW - 1_000 },
    undefined,
  ],
  ["the end of a delivery with the same error changes nothing", failing(1), lastFailure, undefined],
  [
    "a delivery that is given up records its error",
    failing(1, "no response within 10 s"),
    lastFailure,
    { last_error: "responded with status 500" },
  ],
  [
    "a delivery that was tried only once records its error",
    healthy,
    lastFailure,
    { failing_since: NOW, last_error: "responded with status 500" },
  ],
  [
    "a success ends the failing period",
    failing(3),
    success,
    { failing_since: null, last_error: null },
  ],
  ["a success that began before the failure changes nothing", failing(0), success, undefined],
  ["an endpoint stays on just before five days", failing(5 - 1 / DAY), lastFailure, undefined],
  [
    "a failure does not change an endpoint that is off",
    { ...failing(9), enabled: false },
    gone,
    undefined,
  ],
  [
    "a success does not change an endpoint that is off",
    { ...failing(9), enabled: false },
    success,
    undefined,
  ],
])("a try changes the health of an endpoint or not: %s", (_, health, one, changes) => {
  expect(healthAfter(health, one)).toEqual(changes && { ...health, ...changes });
});

describe("it is switched off", () => {
  test("an endpoint is switched off when a delivery is given up and none has arrived for five days", () => {
    expect(healthAfter(failing(5, "no response within 10 s"), lastFailure)).toEqual({
      enabled: false,
      failing_since: NOW - 5 * DAY,
      last_error: "responded with status 500",
      notice:
        'Disabled on 2026-11-26 because every delivery since 2026-11-21 failed. Last error: responded with status 500. Fix the receiver, then enable the endpoint with PATCH {"enabled": true}.',
    });
  });

  test("an endpoint is switched off at once when it answers that it is gone", () => {
    expect(healthAfter(healthy, gone)).toEqual({
      enabled: false,
      failing_since: NOW,
      last_error: "responded with status 410",
      notice:
        'Disabled on 2026-11-26 because the receiver responded with status 410 (Gone). Enable it with PATCH {"enabled": true}, or delete it.',
    });
  });
});

const tries = fc.array(
  fc.record({
    error: fc.constantFrom(null, "responded with status 500", "no response within 10 s"),
    final: fc.nat(60).map((n) => n === 0),
    isLast: fc.nat(4).map((n) => n === 0),
    hours: fc.nat(30),
  }),
  { maxLength: 60 },
);

test("an endpoint is off only for a reason, and its health changes rarely, in any order of tries", () => {
  fc.assert(
    fc.property(tries, (history) => {
      let health = healthy;
      let at = NOW;
      let turns = 0;
      let changes = 0;
      let isLasts = 0;
      let firstFailure: number | null = null;
      for (const { error, final, isLast, hours } of history) {
        at += 1 + hours * 3_600_000;
        if ((firstFailure === null) !== (error === null)) turns++;
        firstFailure = error === null ? null : (firstFailure ?? at);
        if (error !== null && isLast) isLasts++;
        const isGone = final && error !== null;
        const outcome = { status: null, error, ...(isGone && { final }) };
        const next = healthAfter(health, { ...success, outcome, isLast, at });
        if (next) changes++;
        health = next ?? health;
        if (!health.enabled) {
          const isLong = firstFailure !== null && at - firstFailure >= success.switchOffMs;
          expect(isGone || (isLast && isLong)).toBe(true);
          expect(health.notice).toContain(new Date(at).toISOString().slice(0, 10));
          break;
        }
        expect(isGone).toBe(false);
        expect(health).toMatchObject({ failing_since: firstFailure, notice: null });
        expect(health.last_error === null).toBe(firstFailure === null);
      }
      expect(changes).toBeLessThanOrEqual(turns + isLasts + 1);
    }),
    { numRuns: 2_000 },
  );
});
