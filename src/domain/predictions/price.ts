/** What runs cost, in the operator's currency. */

const HOUR_S = 3_600;

/** What so long on a machine costs. */
export const priceOf = (seconds: number, pricePerHour: number): number =>
  (seconds * pricePerHour) / HOUR_S;

/** Two digits that say something: runs cost small parts of a unit. */
export const priceText = (price: number): string =>
  price >= 1 || price === 0
    ? price.toLocaleString("en", { minimumFractionDigits: 2, maximumFractionDigits: 2 })
    : price.toLocaleString("en", { maximumSignificantDigits: 2, maximumFractionDigits: 20 });
