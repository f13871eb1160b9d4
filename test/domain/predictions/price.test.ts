/** What runs cost. */
import { expect, test } from "vitest";
import { priceOf, priceText } from "../../../src/domain/predictions/price.ts";

test("an hour costs the price of an hour", () => {
  expect(priceOf(3_600, 1.2)).toBe(1.2);
  expect(priceOf(90, 2.4)).toBeCloseTo(0.06, 12);
});

test.each([
  [0, "0.00"],
  [0.000004567, "0.0000046"],
  [0.0512, "0.051"],
  [0.1 + 0.2, "0.30"],
  [0.05, "0.05"],
  [0.999, "1.00"],
  [1.25, "1.25"],
  [1234, "1,234.00"],
])("%d is written as %s", (price, text) => {
  expect(priceText(price)).toBe(text);
});
