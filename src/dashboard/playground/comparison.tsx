/** Renders the comparison of two runs of the model that the address names. */
import type { Child } from "hono/jsx";
import { notFound } from "../../errors/errors.ts";
import { unmarked } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import { type PredictionView, viewPrediction } from "../../services/predictions/prediction-view.ts";
import { type RecentRun, recentRuns } from "../../services/predictions/recent-runs.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { viewerOf } from "../access.ts";
import type { PageContext } from "../context.ts";
import { OutputValue } from "../prediction-view/output.tsx";
import { outputOf } from "../prediction-view/output-kind.ts";
import { PredictionPanel } from "../prediction-view/view.tsx";
import { duration, durationText } from "../ui/duration.ts";
import { Submit } from "../ui/fields.tsx";
import { modelAddress, referenceOf, renderModel } from "../ui/model-header.tsx";
import { Empty, Price, Time } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { inputFields } from "./input.ts";
import { findVersion } from "./render.tsx";
import {
  type Difference,
  differences,
  type KnownField,
  labelOf,
  type MarkedText,
  markedTexts,
} from "./run-inputs.ts";

/** Renders two of the viewer's own runs next to each other. @throws ProblemError not_found */
export async function renderComparison(c: PageContext, a: string | undefined, b: string) {
  const { services, origin } = c.var;
  const { caller } = viewerOf(c);
  const { model, version } = await findVersion(c);
  const read = async (id: string) => {
    const view = await viewPrediction(services, caller, id, origin);
    if (view.model !== referenceOf(model)) throw notFound(`The prediction '${id}' of this model`);
    return view;
  };
  const content = async () => {
    const [runs, first, second] = await Promise.all([
      recentRuns(services, caller, referenceOf(model), version, c.req.url),
      a ? read(a) : undefined,
      b ? read(b) : undefined,
    ]);
    const both: Both | undefined = first && second && [first, second];
    const fields = version ? inputFields(version) : [];
    return (
      <>
        <h2>Compare two runs</h2>
        <Choice model={model} runs={runs} fields={fields} both={both} />
        {both ? (
          <Compared both={both} host={new URL(origin).host} />
        ) : (
          <Empty title="Select two runs">
            <p>Your runs of this model, from the playground or the API, are listed above.</p>
          </Empty>
        )}
      </>
    );
  };
  const title = `Runs of ${referenceOf(model)}`;
  return renderModel(c, { model, page: "", title, scripts: ["prediction"] }, content());
}

type Both = [a: PredictionView, b: PredictionView];

interface ChoiceProps {
  model: DetailedModelRow;
  runs: RecentRun[];
  fields: KnownField[];
  /** Undefined while fewer than two are chosen. */
  both: Both | undefined;
}

function Choice({ model, runs, fields, both }: ChoiceProps) {
  const address = modelAddress(model);
  return (
    <form action={address} class="bar row spaced compare-choice">
      {NAMES.map((name, n) => (
        <p class="field">
          <label for={`compare-${name}`}>{`Run ${n === 0 ? "A" : "B"}`}</label>
          <select id={`compare-${name}`} name={name}>
            <Options runs={runs} fields={fields} chosen={both?.[n]?.prediction} />
          </select>
        </p>
      ))}
      <Submit kind="quiet">Compare</Submit>
      <a
        class="button quiet"
        href={both ? `${address}?prediction=${both[0].prediction.id}` : address}
      >
        Back to the playground
      </a>
    </form>
  );
}

const NAMES = ["prediction", "compare"] as const;

/** The chosen run may be older than the listed ones. */
function Options({
  runs,
  fields,
  chosen,
}: {
  runs: RecentRun[];
  fields: KnownField[];
  chosen: PredictionView["prediction"] | undefined;
}) {
  const isAmong = runs.some(({ prediction }) => prediction.id === chosen?.id);
  const all: RecentRun[] =
    chosen && !isAmong
      ? [...runs, { prediction: chosen, content: undefined, isStartCheck: false }]
      : runs;
  return (
    <>
      {all.map(({ prediction: { id, status, created_at }, content }) => (
        <option value={id} selected={id === chosen?.id}>
          {[timeOf(created_at), status, content && labelOf(content.input, fields)]
            .filter(Boolean)
            .join(" · ")}
        </option>
      ))}
    </>
  );
}

function Compared({ both, host }: { both: Both; host: string }) {
  const [a, b] = both;
  const isKnown = both.every(({ displayInput }) => displayInput !== undefined);
  const fields = isKnown ? differences(a.displayInput, b.displayInput) : [];
  const changed = fields.filter(({ isSame }) => !isSame);
  const same = fields.filter(({ isSame }) => isSame);
  return (
    <>
      <Table class="stacked comparison" columns={["", "A", "B"]}>
        <Facts both={both} />
        {changed.map((field) => (
          <Changed field={field} host={host} />
        ))}
      </Table>
      {!isKnown && <p class="hint">Inputs that were removed or are too large are not compared.</p>}
      {same.length > 0 && (
        <details class="spaced">
          <summary class="quiet">{`Same in both: ${same.map(({ name }) => name).join(", ")}`}</summary>
          <dl class="input">
            {same.map(({ name, a: value }) => (
              <>
                <dt>{unmarked(name)}</dt>
                <dd>{value !== undefined && <Value value={value} host={host} />}</dd>
              </>
            ))}
          </dl>
        </details>
      )}
      <div class="split compared" data-compared>
        {both.map((view, n) => (
          <section aria-label={`Run ${n === 0 ? "A" : "B"}`}>
            <h3>{`Run ${n === 0 ? "A" : "B"}`}</h3>
            <PredictionPanel view={view} host={host} />
          </section>
        ))}
      </div>
    </>
  );
}

const Facts = ({ both }: { both: Both }) => (
  <>
    {FACTS.map(([name, shown]) => (
      <tr>
        <th scope="row">{name}</th>
        {both.map((run, n) => (
          <td data-label={n === 0 ? "A" : "B"}>{shown(run)}</td>
        ))}
      </tr>
    ))}
  </>
);

/** Returns the setup time of the timeline below, which counts from when a runner took the prediction. */
function setupOf({ steps }: PredictionView) {
  const step = steps.find(({ kind }) => kind === "setup");
  return step?.seconds == null ? "–" : duration(step.seconds);
}

const FACTS: [name: string, shown: (view: PredictionView) => Child][] = [
  ["Created", (view) => <Time at={view.prediction.created_at} exact />],
  ["Version", (view) => String(view.prediction.model.version_number)],
  ["Setup", setupOf],
  ["Execution", (view) => durationText(view.prediction.execution_time)],
  ["Price", ({ price }) => (price === undefined ? "–" : <Price value={price} />)],
];

function Changed({ field: { name, a, b }, host }: { field: Difference; host: string }) {
  const [x, y] = typeof a === "string" && typeof b === "string" ? markedTexts(a, b) : [];
  return (
    <tr class="differs">
      <th scope="row">
        {name} <small>differs</small>
      </th>
      <td data-label="A">{x ? <Marked text={x} /> : <Value value={a} host={host} />}</td>
      <td data-label="B">{y ? <Marked text={y} /> : <Value value={b} host={host} />}</td>
    </tr>
  );
}

const Marked = ({ text: [before, changed, after] }: { text: MarkedText }) => (
  <span class="marked-text" dir="auto">
    {before}
    {changed && <mark>{changed}</mark>}
    {after}
  </span>
);

const Value = ({ value, host }: { value: Json | undefined; host: string }) =>
  value === undefined ? (
    <span class="hint">not set</span>
  ) : (
    <OutputValue output={outputOf(value, host)} host={host} all={undefined} />
  );

/** An option has no room for a `time`, which would be in the reader's time zone. */
const timeOf = (at: string) => `${at.slice(0, 16).replace("T", " ")} UTC`;
