/** Prices of runs. */
import { expect, test } from "vitest";
import { priceOf, priceText } from "../../../src/domain/predictions/price.ts";

test("the price of an hour is the hourly price", () => {
  expect(priceOf(3_600, 1.2)).toBe(1.2);
  expect(priceOf(90, 2.4)).toBeCloseTo(0.06, 12);
});

test.each([
  [0, "USD", "$0.00"],
  [0.000004567, "USD", "$0.0000046"],
  [0.0512, "EUR", "€0.051"],
  [0.1 + 0.2, "EUR", "€0.30"],
  [0.05, "USD", "$0.05"],
  [0.999, "USD", "$1.00"],
  [1.25, "JPY", "¥1.25"],
  [1234, "CHF", "CHF\u00a01,234.00"],
])("%d %s is written as %s", (price, currency, text) => {
  expect(priceText(price, currency)).toBe(text);
});
