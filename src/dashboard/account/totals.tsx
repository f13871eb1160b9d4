/** Usage of an account as a row of figures. */
import type { Child } from "hono/jsx";
import type { UsageCount } from "../../domain/accounts/usage.ts";
import { duration } from "../prediction-view/duration.ts";
import { Price } from "../ui/price.tsx";

export function Totals({ predictions, failed, execution_seconds, price }: UsageCount) {
  const totals: [name: string, value: Child][] = [
    ["Predictions", predictions.toLocaleString("en")],
    ["Failed", failed.toLocaleString("en")],
    ["Execution time", duration(execution_seconds)],
  ];
  // A price is shown only where hardware has one.
  if (price > 0) totals.push(["Price", <Price value={price} />]);
  return (
    <dl class="figures totals">
      {totals.map(([name, value]) => (
        <div>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
