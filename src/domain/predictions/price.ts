/** The price of runs, in the deployment's currency. */
import type { Prediction } from "../../protocol/prediction.ts";

const HOUR_S = 3_600;

/** Returns the price of this time on a machine. */
export const priceOf = (seconds: number, pricePerHour: number): number =>
  (seconds * pricePerHour) / HOUR_S;

/** Returns the price of a run at the present price of its hardware; undefined where it is unknown. */
export const runPrice = (
  { execution_time }: Pick<Prediction, "execution_time">,
  pricePerHour: number | null | undefined,
): number | undefined =>
  execution_time === null || pricePerHour == null
    ? undefined
    : priceOf(Number(execution_time), pricePerHour);

/** Formats a price with two significant digits. @param currency as ISO 4217 has it: "EUR" */
export function priceText(price: number, currency: string): string {
  const digits = price > 0 ? 1 - Math.floor(Math.log10(price)) : 0;
  return price.toLocaleString("en", {
    style: "currency",
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: Math.min(Math.max(digits, 2), 20),
  });
}
