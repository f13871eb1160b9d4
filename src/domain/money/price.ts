/** Prices, and how amounts are shown. Amounts are integers of billionths of the currency unit. */
import { amountText, MAX_AMOUNT } from "../../protocol/money.ts";

const HOUR_MS = 3_600_000;

/** Returns the price of a quantity, rounded once, half up. @param per the quantity that the price is for */
export function priceOf(quantity: number, price: number, per: number): number {
  const exact = BigInt(Math.round(quantity)) * BigInt(price);
  const rounded = (exact + BigInt(per) / 2n) / BigInt(per);
  return Math.min(Number(rounded), MAX_AMOUNT);
}

export const timePrice = (ms: number, pricePerHour: number): number =>
  priceOf(ms, pricePerHour, HOUR_MS);

/** Formats an amount with two significant digits, and at least two decimal places. @param currency such as "EUR" */
export function priceText(amount: number, currency: string): string {
  const price = Number(amountText(amount));
  const digits = price > 0 ? 1 - Math.floor(Math.log10(price)) : 0;
  return price.toLocaleString("en", {
    style: "currency",
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.min(Math.max(digits, 2), 20),
  });
}
