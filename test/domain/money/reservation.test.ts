/** The amount that is reserved for a run, and how long it lasts. */
import { expect, test } from "vitest";
import {
  MIN_RUNS,
  reservationOf,
  reservationOfAny,
  reservedAmounts,
  usedUpAt,
} from "../../../src/domain/money/reservation.ts";
import type { Prices } from "../../../src/protocol/prices.ts";

const UNIT = 1_000_000_000;
/** One unit a second. */
const PER_HOUR = 3_600 * UNIT;

const spec = (changes: { timeout_seconds?: number; prices?: Prices; charges_setup?: boolean }) => ({
  ...{ price_per_hour: PER_HOUR, charges_setup: true },
  ...{ setup_timeout_seconds: 100, timeout_seconds: 1_000 },
  ...changes,
});

const unitsOf = (changes: Parameters<typeof spec>[0], costs: number[] = []) => {
  const amounts = reservedAmounts(
    reservationOf(spec(changes), null),
    costs.map((cost) => cost * UNIT),
  );
  return [amounts.amount / UNIT, amounts.least / UNIT];
};

test.each([
  ["time", {}, [1_100, 60]],
  ["time, with a shorter limit than a minute", { timeout_seconds: 20 }, [120, 60]],
  ["time, without setup", { timeout_seconds: 20, charges_setup: false }, [20, 20]],
  ["each run and its time", { prices: { per_run: 5 * UNIT } }, [1_105, 65]],
  ["its own time, and its setup by the hardware", { prices: { per_second: 0 } }, [100, 60]],
  ["images", { prices: { per_second: 0, per_image: UNIT }, charges_setup: false }, [10, 10]],
  ["images and time", { prices: { per_image: UNIT } }, [1_110, 70]],
])(
  "a first run that pays for %s may reserve a minute and what is known only at its end",
  (_, changes, amounts) => {
    expect(unitsOf(changes)).toEqual(amounts);
  },
);

test("a run whose version has run often reserves what the dearest has cost, and at least a minute of it", () => {
  const ran = (cost: number) => Array.from({ length: MIN_RUNS }, () => cost);
  expect(unitsOf({}, ran(1))).toEqual([10, 10]);
  expect(unitsOf({}, ran(30))).toEqual([30, 30]);
  expect(unitsOf({}, ran(300))).toEqual([300, 60]);
  expect(unitsOf({ prices: { per_image: UNIT } }, ran(40))).toEqual([80, 70]);
});

test("a fallback has enough reserved to begin with, however little the version before it costs", () => {
  const free = reservationOf({ ...spec({}), price_per_hour: null }, null);
  const perImage = reservationOf(
    { ...spec({ prices: { per_second: 0, per_image: UNIT } }), charges_setup: false },
    null,
  );
  const costs = Array.from({ length: MIN_RUNS }, () => 0);
  expect(reservedAmounts(free, costs)).toEqual({ amount: 0, least: 0 });
  const any = reservationOfAny(free, [perImage]);
  expect(reservedAmounts(any, costs)).toEqual({ amount: 10 * UNIT, least: 10 * UNIT });
  expect(reservationOfAny(free, [])).toEqual(free);
});

test("a reservation lasts as long as setup and run take to cost it, each at its price", () => {
  const at = (
    changes: Parameters<typeof spec>[0],
    ready_at: number | null,
    price_per_hour: number | null = PER_HOUR,
  ) => usedUpAt({ ...spec(changes), price_per_hour }, 20 * UNIT, { started_at: 1_000, ready_at });
  expect(at({}, null)).toBe(21_000);
  expect(at({}, 6_000)).toBe(21_000);
  expect(at({ prices: { per_second: 5 * UNIT, per_run: 5 * UNIT } }, 6_000)).toBe(8_000);
  expect(at({ prices: { per_second: 5 * UNIT } }, null)).toBe(21_000);
  expect(at({}, 60_000)).toBe(60_000);
  expect(at({ charges_setup: false }, null)).toBe(Number.POSITIVE_INFINITY);
  expect(at({ charges_setup: false }, 6_000)).toBe(26_000);
  expect(at({}, 6_000, null)).toBe(Number.POSITIVE_INFINITY);
});
