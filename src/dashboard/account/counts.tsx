/** Tables of usage: sums of predictions, times, tokens, images and cost. */
import type { Child, PropsWithChildren } from "hono/jsx";
import type { UsageCount } from "../../domain/accounts/usage.ts";
import { duration } from "../ui/duration.ts";
import { Price } from "../ui/parts.tsx";
import { type Column, Table } from "../ui/table.tsx";

/** A price is shown only where hardware has one. */
export const isPriced = ({ cost }: UsageCount) => cost > 0;

export const Cost = (count: UsageCount) =>
  isPriced(count) ? <Price value={count.cost} /> : <>–</>;

export const number = (value: number) => value.toLocaleString("en");

/** @param name what each row is */
export const CountTable = ({
  name,
  id,
  total,
  children,
}: PropsWithChildren<{ name: string; id?: string; total: UsageCount }>) => (
  <>
    <h2 id={id}>By {name.toLowerCase()}</h2>
    <div class="scroll">
      <Table
        class="counts"
        columns={[
          name,
          ...numbersOf(["Predictions", "Failed", "Execution time", ...countedOf(total)], total),
        ]}
      >
        {children}
      </Table>
    </div>
  </>
);

/** @param total whose price, if there is one, is the last column */
export const numbersOf = (names: Child[], total: UsageCount): Column[] =>
  [...names, ...(isPriced(total) ? ["Cost"] : [])].map((name) => ({ name, is: "number" }));

/** Sums that only some models have, and that are shown only where there are any. */
const COUNTED = {
  setup_ms: "Setup",
  input_tokens: "Input tokens",
  output_tokens: "Output tokens",
  cached_tokens: "Cached tokens",
  images: "Images",
} satisfies Partial<Record<keyof UsageCount, string>>;
const countedIn = (total: UsageCount) =>
  (["setup_ms", "input_tokens", "output_tokens", "cached_tokens", "images"] as const).filter(
    (name) => total[name] > 0,
  );
const countedOf = (total: UsageCount) => countedIn(total).map((name) => COUNTED[name]);

export const Counts = ({ count, total }: { count: UsageCount; total: UsageCount }) => (
  <>
    <td class="number">{number(count.predictions)}</td>
    <td class="number">{number(count.failed)}</td>
    <td class="number">{timeText(count.execution_ms)}</td>
    {countedIn(total).map((name) => (
      <td class="number">{name === "setup_ms" ? timeText(count[name]) : number(count[name])}</td>
    ))}
    {isPriced(total) && (
      <td class="number">
        <Cost {...count} />
      </td>
    )}
  </>
);

const timeText = (ms: number) => duration(ms / 1_000);
