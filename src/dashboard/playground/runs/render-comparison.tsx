/** Renders the comparison of two runs of the model that the address names. */

import type { Child } from "hono/jsx";
import { notFound } from "../../../errors/errors.ts";
import { unmarked } from "../../../lib/exact-json.ts";
import type { Json } from "../../../protocol/common.ts";
import {
  type PredictionView,
  viewPrediction,
} from "../../../services/predictions/prediction-view.ts";
import { type RecentRun, recentRuns } from "../../../services/predictions/recent-runs.ts";
import type { VersionEstimate } from "../../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../../storage/models/models.ts";
import { viewerOf } from "../../access.ts";
import type { PageContext, Viewer } from "../../context.ts";
import { ModelHeader, modelAddress } from "../../models/header.tsx";
import { estimateOf } from "../../models/run-estimate.ts";
import { duration } from "../../prediction-view/duration.ts";
import { OutputValue } from "../../prediction-view/output.tsx";
import { outputOf } from "../../prediction-view/output-kind.ts";
import { PredictionPanel } from "../../prediction-view/view.tsx";
import { Empty, Time } from "../../ui/parts.tsx";
import { Price } from "../../ui/price.tsx";
import { Table } from "../../ui/table.tsx";
import { inputFields } from "../input.ts";
import { findVersion } from "../render.tsx";
import { type Difference, differences, type MarkedText, markedTexts } from "./differences.ts";
import { type KnownField, labelOf } from "./label.ts";

/** Renders the comparison of two of the viewer's own runs. @throws ProblemError not_found */
export async function renderComparison(c: PageContext, a: string | undefined, b: string) {
  const { services, origin } = c.var;
  const viewer = viewerOf(c);
  const { model, version } = await findVersion(c);
  const reference = `${model.owner.username}/${model.name}`;
  const read = (id: string) => readRun(c, model, id);
  const [runs, estimate, first, second] = await Promise.all([
    recentRuns(services, viewer.caller, reference, version, c.req.url),
    estimateOf(c, model),
    a ? read(a) : undefined,
    b ? read(b) : undefined,
  ]);
  const both: [ComparedRun, ComparedRun] | undefined = first && second && [first, second];
  const fields = version ? inputFields(version) : [];
  const comparison = { model, estimate, runs, fields, both, host: new URL(origin).host };
  return c.render(<ComparePage comparison={comparison} viewer={viewer} />, {
    title: `Runs of ${reference}`,
    scripts: ["prediction"],
  });
}

async function readRun(c: PageContext, model: DetailedModelRow, id: string): Promise<ComparedRun> {
  const { services, origin } = c.var;
  const view = await viewPrediction(services, viewerOf(c).caller, id, origin);
  if (view.model !== `${model.owner.username}/${model.name}`)
    throw notFound(`The prediction '${id}' of this model`);
  return { view };
}

/** Two runs of a model next to each other: inputs, durations and outputs. */
interface ComparedRun {
  view: PredictionView;
}

type Both = [a: ComparedRun, b: ComparedRun];

interface Comparison {
  model: DetailedModelRow;
  estimate: VersionEstimate | undefined;
  runs: RecentRun[];
  /** Input fields of the model's latest version. */
  fields: KnownField[];
  /** Undefined while fewer than two are chosen. */
  both: Both | undefined;
  host: string;
}

const ComparePage = ({ comparison, viewer }: { comparison: Comparison; viewer: Viewer }) => (
  <>
    <ModelHeader model={comparison.model} viewer={viewer} page="" estimate={comparison.estimate} />
    <h2>Compare two runs</h2>
    <Choice comparison={comparison} />
    {comparison.both ? (
      <Both both={comparison.both} host={comparison.host} />
    ) : (
      <Empty title="Two runs are needed">
        <p>Choose two above. Runs of this model in its playground or by the API are there.</p>
      </Empty>
    )}
  </>
);

function Choice({ comparison: { model, runs, fields, both } }: { comparison: Comparison }) {
  const address = modelAddress(model);
  return (
    <form action={address} class="bar compare-choice">
      {NAMES.map((name, n) => (
        <p>
          <label for={`compare-${name}`}>{`Run ${n === 0 ? "A" : "B"}`}</label>
          <select id={`compare-${name}`} name={name}>
            <Options runs={runs} fields={fields} chosen={both?.[n]?.view.prediction} />
          </select>
        </p>
      ))}
      <button type="submit" class="quiet">
        Compare
      </button>
      <a
        class="compare-back"
        href={both ? `${address}?prediction=${both[0].view.prediction.id}` : address}
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
    chosen && !isAmong ? [...runs, { prediction: chosen, content: undefined }] : runs;
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

function Both({ both, host }: { both: Both; host: string }) {
  const [a, b] = both.map(({ view }) => view);
  const isKnown = both.every(({ view }) => view.displayInput !== undefined);
  const fields = isKnown ? differences(a?.displayInput, b?.displayInput) : [];
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
      {!isKnown && (
        <p class="hint">An input that was removed or is too large for a page is not compared.</p>
      )}
      {same.length > 0 && (
        <details class="same-fields">
          <summary class="quiet">{`The same in both: ${same.map(({ name }) => name).join(", ")}`}</summary>
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
      <div class="compared" data-compared>
        {both.map(({ view }, n) => (
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

const seconds = (text: string | null) => (text === null ? "–" : duration(Number(text)));

/** Returns the setup time of the timeline below, which counts from when a runner took the prediction. */
function setupOf({ steps }: PredictionView) {
  const step = steps.find(({ kind }) => kind === "setup");
  return step?.seconds == null ? "–" : duration(step.seconds);
}

const FACTS: [name: string, shown: (run: ComparedRun) => Child][] = [
  ["Created", ({ view }) => <Time at={view.prediction.created_at} exact />],
  ["Version", ({ view }) => String(view.prediction.model.version_number)],
  ["Setup", ({ view }) => setupOf(view)],
  ["Execution", ({ view }) => seconds(view.prediction.execution_time)],
  ["Price", ({ view: { price } }) => (price === undefined ? "–" : <Price value={price} />)],
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
    <span class="hint">not given</span>
  ) : (
    <OutputValue output={outputOf(value, host)} host={host} all={undefined} />
  );

/** An option has no room for a `time`, which would be in the reader's time zone. */
const timeOf = (at: string) => `${at.slice(0, 16).replace("T", " ")} UTC`;
