/** Usage of an account as a row of figures. */
import type { Child } from "hono/jsx";
import type { UsageCount } from "../../domain/accounts/usage.ts";
import { byteText } from "../../lib/text.ts";
import type { UserUsage } from "../../protocol/user.ts";
import { duration } from "../ui/duration.ts";
import { Price } from "../ui/parts.tsx";

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

export const Storage = ({
  storage: { files, images, database },
  children,
}: {
  storage: UserUsage;
  children?: Child;
}) => (
  <section aria-labelledby="storage-title">
    <h2 id="storage-title">Storage</h2>
    <dl class="figures totals">
      <div>
        <dt>Files</dt>
        <dd>{amountOf(files)}</dd>
      </div>
      <div>
        <dt>Images</dt>
        <dd>{amountOf(images)}</dd>
      </div>
      <div>
        <dt>Database</dt>
        <dd>{amountOf(database)}</dd>
      </div>
    </dl>
    {children}
  </section>
);

const amountOf = ({ bytes, max_bytes }: UserUsage["images"]) =>
  `${byteText(bytes)} of ${byteText(max_bytes)}`;
