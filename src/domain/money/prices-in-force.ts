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
 * account.
 * @param dated in any order
 * @param isOwn whether the run's account owns the model
 */
export function pricesInForce(
  dated: readonly DatedPrices[],
  isOwn: boolean,
  now: number,
): Prices | undefined {
  const latestOf = (setter: Setter) =>
    dated
      .filter(({ set_by, starts_at }) => set_by === setter && starts_at <= now)
      .reduce<DatedPrices | undefined>(
        (latest, one) => (latest && latest.starts_at > one.starts_at ? latest : one),
        undefined,
      )?.prices;
  return latestOf("operator") ?? (isOwn ? latestOf("owner") : undefined) ?? undefined;
}
