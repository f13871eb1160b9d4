import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { nextDelay } from "../../../src/domain/webhooks/delivery.ts";

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
