/** How amounts are shown. */
import { amountText } from "../../protocol/money.ts";

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
