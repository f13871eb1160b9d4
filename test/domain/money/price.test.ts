/** Amounts and prices. */
import { expect, test } from "vitest";
import { priceText } from "../../../src/domain/money/price.ts";
import { amount, amountOf, amountText, MAX_AMOUNT } from "../../../src/protocol/money.ts";

test.each([
  ["0", 0],
  ["0.0016", 1_600_000],
  ["0.000000001", 1],
  ["12.5", 12_500_000_000],
  ["9000000", MAX_AMOUNT],
])("the amount %s is %d billionths, and back", (text, billionths) => {
  expect(amountOf(text)).toBe(billionths);
  expect(amountText(billionths)).toBe(text);
});

test.each(["", "-1", "1e3", "0x10", ".5", "1.", "0.0000000001", "9000000.000000001", "1,5", "NaN"])(
  "%s is no amount",
  (text) => {
    expect(amountOf(text)).toBeUndefined();
    expect(amount.safeParse(text).success).toBe(false);
  },
);

test("an amount may come as a number, without its binary noise", () => {
  expect(amount.parse(0.1 + 0.2)).toBe(300_000_000);
  expect(amount.parse(" 0.80 ")).toBe(800_000_000);
  for (const one of [-1, 1e22, Number.NaN, 9_000_001, Number.POSITIVE_INFINITY])
    expect(amount.safeParse(one).success).toBe(false);
});

test.each([
  ["0", "USD", "$0.00"],
  ["0.000004567", "USD", "$0.0000046"],
  ["0.0512", "EUR", "€0.051"],
  ["0.3", "EUR", "€0.30"],
  ["0.05", "USD", "$0.05"],
  ["0.999", "USD", "$1.00"],
  ["1.25", "JPY", "¥1.25"],
  ["1234", "CHF", "CHF\u00a01,234.00"],
])("%s %s is written as %s", (text, currency, shown) => {
  expect(priceText(amountOf(text) ?? Number.NaN, currency)).toBe(shown);
});
