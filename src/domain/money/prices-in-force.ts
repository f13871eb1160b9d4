/** The prices of a version that count for a run. */
import type { Prices, Setter } from "../../protocol/prices.ts";

/** Prices of a version, which count from a time until the next ones of the same setter. */
export interface DatedPrices {
  set_by: Setter;
  starts_at: number;
  /** Null: none. */
  prices: Prices | null;
}

/**
 * Returns the prices that count for a run: those of an operator, or else the owner's, for a run of the owner's own
 * account. The owner's price of time does not count if it is below that of the hardware: an account could
 * otherwise run for nothing, whatever budget an operator or its admins have set.
 * @param dated in any order
 * @param isOwn whether the run's account owns the model
 * @param pricePerHour of the hardware
 */
export function pricesInForce(
  dated: readonly DatedPrices[],
  isOwn: boolean,
  pricePerHour: number | null,
  now: number,
): Prices | undefined {
  const latestOf = (setter: Setter) =>
    dated
      .filter(({ set_by, starts_at }) => set_by === setter && starts_at <= now)
      .reduce<DatedPrices | undefined>(
        (latest, one) => (latest && latest.starts_at > one.starts_at ? latest : one),
        undefined,
      )?.prices;
  const own = isOwn ? latestOf("owner") : undefined;
  return latestOf("operator") ?? (own ? notBelow(own, pricePerHour ?? 0) : undefined);
}

const HOUR_SECONDS = 3_600;

function notBelow({ per_second, ...others }: Prices, pricePerHour: number): Prices {
  const counts = per_second !== undefined && per_second * HOUR_SECONDS >= pricePerHour;
  return counts ? { ...others, per_second } : others;
}
