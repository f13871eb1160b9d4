/** Prices, and how amounts are shown. Amounts are integers of billionths of the currency unit. */
import { amountText, MAX_AMOUNT } from "../../protocol/money.ts";

const HOUR_MS = 3_600_000n;

/** Returns the price of this time, rounded once, half up. */
export function timePrice(ms: number, pricePerHour: number): number {
  const exact = BigInt(Math.round(ms)) * BigInt(pricePerHour);
  const rounded = (exact + HOUR_MS / 2n) / HOUR_MS;
  return Math.min(Number(rounded), MAX_AMOUNT);
}

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
