/** The prices of a version: a part of its page, with the forms of its owner and of operators. */
import { amountOf } from "../../protocol/money.ts";
import type { Setter, VersionPrices } from "../../protocol/prices.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { type Draft, emptyDraft } from "../form.ts";
import { Submit, TextField } from "../ui/fields.tsx";
import { Form } from "../ui/layout.tsx";
import { isOwner, modelAddress, referenceOf } from "../ui/model-header.tsx";
import { Price, Time, useCurrency } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";

type PriceName = keyof NonNullable<VersionPrices["prices"]>;

export const PRICE_NAMES: [name: PriceName, label: string, unit: string][] = [
  ["per_run", "Run", "per run"],
  ["per_second", "Second", "per second"],
  ["per_million_input_tokens", "Million input tokens", "per million input tokens"],
  ["per_million_cached_tokens", "Million cached tokens", "per million cached tokens"],
  ["per_million_output_tokens", "Million output tokens", "per million output tokens"],
  ["per_image", "Image", "per image"],
  ["per_audio_second", "Second of audio", "per second of audio"],
];

interface Props {
  model: DetailedModelRow;
  number: number;
  /** The owner's, then the operators', each newest first. */
  prices: VersionPrices[];
  viewer: Viewer | undefined;
  draft: Draft;
}

export function Prices({ viewer, ...props }: Props) {
  const { model, prices } = props;
  const owns = isOwner(model, viewer);
  const isOperator = viewer?.operator ?? false;
  if (prices.length === 0 && !owns && !isOperator) return null;
  return (
    <section aria-labelledby="prices">
      <h3 id="prices">Prices</h3>
      {prices.length === 0 ? (
        <p class="hint">Runs cost their time on the hardware.</p>
      ) : (
        <Table class="stacked" columns={["From", "For runs of", "Prices"]}>
          {prices.map((row) => (
            <tr>
              <th scope="row">
                <Time at={Date.parse(row.from)} />
              </th>
              <td data-label="For runs of">
                {row.set_by === "operator" ? "All accounts" : model.owner.username}
              </td>
              <td data-label="Prices">
                <List prices={row.prices} />
              </td>
            </tr>
          ))}
        </Table>
      )}
      {/* One form: two would have fields of the same names. */}
      {(owns || isOperator) && <PriceForm {...props} setter={isOperator ? "operator" : "owner"} />}
    </section>
  );
}

function List({ prices }: Pick<VersionPrices, "prices">) {
  if (!prices) return <span class="quiet">None</span>;
  const set = PRICE_NAMES.filter(([name]) => prices[name] !== undefined);
  return (
    <>
      {set.map(([name, , unit], n) => (
        <>
          {n > 0 && ", "}
          <Price value={amountOf(prices[name] ?? "") ?? 0} /> {unit}
        </>
      ))}
    </>
  );
}

const TITLES: Record<Setter, string> = {
  owner: "Set prices for your own account",
  operator: "Set prices for all accounts",
};

const HINTS: Record<Setter, string> = {
  owner: "Only runs of this account cost these prices, unless an operator has set some.",
  operator: "Every account pays these prices, in place of those of the model’s owner.",
};

function PriceForm({
  model,
  number,
  prices,
  draft,
  setter,
}: Omit<Props, "viewer"> & { setter: Setter }) {
  const isSent = draft.values?.get("set_by") === setter;
  const now = Date.now();
  const current = prices.find((one) => one.set_by === setter && Date.parse(one.from) <= now);
  const action =
    setter === "owner"
      ? modelAddress(model, `/versions/${number}/prices`)
      : `/fleet/prices/${referenceOf(model)}/${number}`;
  return (
    <details class="panel measure" open={isSent}>
      <summary>{TITLES[setter]}</summary>
      <p class="hint">
        {`${HINTS[setter]} In ${useCurrency()}. Leave all fields empty to end them.`}
      </p>
      <Form action={action} draft={isSent ? draft : emptyDraft}>
        <input type="hidden" name="set_by" value={setter} />
        <div class="cards below">
          {PRICE_NAMES.map(([name, label]) => (
            <TextField
              name={name}
              label={label}
              value={current?.prices?.[name] ?? ""}
              maxlength={20}
              autocomplete="off"
            />
          ))}
        </div>
        <TextField
          name="from"
          label="From"
          type="date"
          hint="The prices begin to count at midnight (UTC). Empty: now."
        />
        <Submit>Set prices</Submit>
      </Form>
    </details>
  );
}
