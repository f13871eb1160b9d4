import fc from "fast-check";
import { describe, expect, it, test } from "vitest";
import { nextDelay, retryAfterMs } from "../../../src/domain/webhooks/delivery.ts";
import { deliveryRowsOf } from "../../../src/domain/webhooks/delivery-row.ts";
import { Outbox } from "../../../src/domain/webhooks/outbox.ts";
import { all, delivered, happening, own, refused, rules, settle } from "./outbox-samples.ts";

const SECOND = 1_000;
const HOUR = 3_600 * SECOND;

/** Returns all delays from the first to the last, with the same chance each time. */
function delays(chance: number): number[] {
  const all: number[] = [];
  for (let tries = 1; ; tries++) {
    const delay = nextDelay(tries, 5 * SECOND, chance);
    if (delay === undefined) return all;
    all.push(delay);
  }
}

const sum = (all: number[]) => all.reduce((a, b) => a + b, 0);

describe("the times between tries", () => {
  it("the delays grow, and end after 24 h", () => {
    const all = delays(0.5);
    expect(all.slice(0, 4)).toEqual([5, 30, 120, 300].map((s) => s * SECOND));
    expect(all).toHaveLength(11);
    expect(all).toEqual(all.toSorted((a, b) => a - b));
    expect(sum(all) / HOUR).toBeCloseTo(23.9, 1);
  });

  it("the delays are jittered by a fifth to both sides", () => {
    expect(nextDelay(2, 5 * SECOND, 0)).toBe(24 * SECOND);
    expect(nextDelay(2, 5 * SECOND, 1)).toBe(36 * SECOND);
  });

  it("the delays are in proportion to the first", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 11 }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        (tries, chance) => {
          const usual = nextDelay(tries, 5 * SECOND, chance) ?? Number.NaN;
          expect(nextDelay(tries, 50, chance)).toBeCloseTo(usual / 100, 6);
        },
      ),
    );
  });

  it("the delays are as long as the receiver asks, within bounds", () => {
    expect(nextDelay(1, 5 * SECOND, 0.5, 60 * SECOND)).toBe(60 * SECOND);
    // The receiver asks for less than the usual delay of try 5.
    expect(nextDelay(5, 5 * SECOND, 0.5, SECOND)).toBe(15 * 60 * SECOND);
    expect(nextDelay(1, 5 * SECOND, 0.5, 1_000 * HOUR)).toBe(8 * HOUR);
    expect(nextDelay(12, 5 * SECOND, 0.5, HOUR)).toBeUndefined();
  });
});

const NOW = Date.parse("2026-01-31T12:00:00Z");

test.each([
  ["120", 120_000],
  ["1", 1_000],
  ["999999999", 999_999_999_000],
  ["Sat, 31 Jan 2026 12:01:30 GMT", 90_000],
  ["Saturday, 31-Jan-26 12:01:30 GMT", 90_000],
])("the header Retry-After: %s asks for %d ms", (header, ms) =>
  expect(retryAfterMs(header, NOW)).toBe(ms),
);

test.each([
  [null],
  [""],
  ["0"],
  ["-5"],
  ["1.5"],
  ["soon"],
  ["9".repeat(400)],
  ["Infinity"],
  ["Sat, 31 Jan 2026 11:59:59 GMT"],
])("the header Retry-After: %s asks for nothing", (header) =>
  expect(retryAfterMs(header, NOW)).toBeUndefined(),
);

const rowsOf = (outbox: Outbox) =>
  deliveryRowsOf("p", outbox.events, "https://example.com/hook", 9_000);

describe("the rows of an outbox", () => {
  it("an outbox has one row for each event and receiver", () => {
    const outbox = new Outbox([own, all]);
    outbox.plan(happening("started", 2, 1_000));
    const common = { prediction_id: "p", sequence: 2, event: "started", at: 1_000, told_at: 9_000 };
    const fresh = { state: "pending", attempts: 0, status: null, error: null, next_at: 1_000 };
    expect(rowsOf(outbox)).toEqual([
      { ...common, ...fresh, endpoint_id: "", url: "https://example.com/hook" },
      { ...common, ...fresh, endpoint_id: "all", url: null },
    ]);
  });

  it("rows have the last try that has ended, and the time of the next one", () => {
    const outbox = new Outbox([own]);
    outbox.plan(happening("started", 2, 1_000));
    const [first] = outbox.begin(1_000, rules);
    expect(rowsOf(outbox)).toMatchObject([{ attempts: 1, status: null, next_at: null }]);
    settle(outbox, first, refused(503), 1_080);
    const [row] = rowsOf(outbox);
    const { error } = refused(503);
    expect(row).toMatchObject({ state: "pending", attempts: 1, status: 503, error });
    const [second] = outbox.begin(row?.next_at ?? 0, rules);
    expect(rowsOf(outbox)).toMatchObject([{ attempts: 2, error, next_at: null }]);
    settle(outbox, second, delivered, 900_000);
    expect(rowsOf(outbox)).toMatchObject([{ state: "delivered", error: null, next_at: null }]);
  });

  it("rows have no outputs, unless their delivery failed", () => {
    const outbox = new Outbox([all]);
    outbox.plan(happening("output", 3, 1_000));
    const [first] = outbox.begin(1_000, rules);
    expect(rowsOf(outbox)).toEqual([]);
    settle(outbox, first, refused(503), 1_080);
    expect(rowsOf(outbox)).toMatchObject([{ event: "output", attempts: 1 }]);
  });
});
