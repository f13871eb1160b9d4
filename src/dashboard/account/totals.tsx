/** Usage of an account as a row of figures. */
import type { Child } from "hono/jsx";
import type { UsageCount } from "../../domain/accounts/usage.ts";
import { byteText } from "../../lib/text.ts";
import type { UserStorage } from "../../protocol/user.ts";
import { duration } from "../ui/duration.ts";
import { Fact, Price } from "../ui/parts.tsx";

export function Totals({ predictions, failed, execution_ms, cost }: UsageCount) {
  return (
    <dl class="figures totals">
      <Fact name="Predictions">{predictions.toLocaleString("en")}</Fact>
      <Fact name="Failed">{failed.toLocaleString("en")}</Fact>
      <Fact name="Execution time">{duration(execution_ms / 1_000)}</Fact>
      {/* A price is shown only where hardware has one. */}
      {cost > 0 && (
        <Fact name="Cost">
          <Price value={cost} />
        </Fact>
      )}
    </dl>
  );
}

export const Storage = ({
  storage: { files, images, database },
  children,
}: {
  storage: UserStorage;
  children?: Child;
}) => (
  <section aria-labelledby="storage-title">
    <h2 id="storage-title">Storage</h2>
    <dl class="figures totals">
      <Fact name="Files">{amountOf(files)}</Fact>
      <Fact name="Images">{amountOf(images)}</Fact>
      <Fact name="Database">{amountOf(database)}</Fact>
    </dl>
    {children}
  </section>
);

const amountOf = ({ bytes, max_bytes }: UserStorage["images"]) =>
  `${byteText(bytes)} of ${byteText(max_bytes)}`;
