/** What an account has used, as a row of figures. */
import type { UsageCount } from "../../domain/accounts/usage.ts";
import { priceText } from "../../domain/predictions/price.ts";
import { duration } from "../prediction-view/duration.ts";

export function Totals({ predictions, failed, execution_seconds, price }: UsageCount) {
  const totals = [
    ["Predictions", predictions.toLocaleString("en")],
    ["Failed", failed.toLocaleString("en")],
    ["Execution time", duration(execution_seconds)],
  ];
  // Where no hardware has a price, none is shown.
  if (price > 0) totals.push(["Price", priceText(price)]);
  return (
    <dl class="totals">
      {totals.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
