/** The dated prices of a version, and those that count for a run. */
import { expect, test } from "vitest";
import { type DatedPrices, pricesInForce } from "../../../src/domain/money/prices-in-force.ts";
import type { Setter } from "../../../src/protocol/prices.ts";

const dated = (set_by: Setter, starts_at: number, per_run: number | null): DatedPrices => ({
  ...{ set_by, starts_at },
  prices: per_run === null ? null : { per_run },
});

const ALL = [
  dated("owner", 10, 1),
  dated("operator", 20, 2),
  dated("operator", 30, null),
  dated("owner", 40, null),
];

test.each([
  [9, undefined, undefined],
  [10, 1, undefined],
  [20, 2, 2],
  [29, 2, 2],
  [30, 1, undefined],
  [40, undefined, undefined],
])("at %d, a run of the owner pays %s and any other run %s", (now, own, other) => {
  for (const rows of [ALL, ALL.toReversed()]) {
    expect(pricesInForce(rows, true, 5, now)?.per_run).toBe(own);
    expect(pricesInForce(rows, false, 5, now)?.per_run).toBe(other);
  }
});

test.each([
  ["owner", 0, undefined],
  ["owner", 99, undefined],
  ["owner", 100, 100],
  ["operator", 0, 0],
] as const)(
  "the %s sets a price of %d a second, where the hardware costs 100: %s counts",
  (set_by, per_second, counts) => {
    const rows: DatedPrices[] = [{ set_by, starts_at: 1, prices: { per_run: 7, per_second } }];
    const prices = pricesInForce(rows, true, 360_000, 2);
    expect([prices?.per_run, prices?.per_second]).toEqual([7, counts]);
    expect(pricesInForce(rows, true, null, 2)?.per_second).toBe(per_second);
  },
);
