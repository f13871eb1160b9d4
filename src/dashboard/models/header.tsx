/** The header of every page of a model: name, visibility, description, what to expect of a run, and tabs. */

import type { SomeReason } from "../../domain/scheduling/decide/explain-class.ts";
import { modelWaitText } from "../../domain/scheduling/explanation.ts";
import type { Visibility } from "../../protocol/model.ts";
import { isSuspended } from "../../services/accounts/access.ts";
import type { VersionEstimate } from "../../services/runners/run-estimate.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import type { Viewer } from "../context.ts";
import { duration } from "../prediction-view/duration.ts";
import { Tabs } from "../ui/parts.tsx";
import { Facts } from "./facts.tsx";

/** How many predictions of a model wait, why, and what would help. For its owner and for operators. */
interface Props {
  reasons: SomeReason[];
  isOperator: boolean;
}

function Waiting({ reasons, isOperator }: Props) {
  const all = reasons.reduce((sum, { jobs }) => sum + jobs, 0);
  if (all === 0) return null;
  const longest = Date.now() - Math.min(...reasons.map(({ since }) => since));
  return (
    <div class="model-waiting">
      <p>
        <strong>{all === 1 ? "1 prediction waits" : `${all} predictions wait`}</strong>
        {`, ${all === 1 ? "for" : "the longest for"} ${duration(Math.max(0, longest) / 1_000)}.`}
        {reasons.length === 1 && <Why reasons={reasons} isOperator={isOperator} />}
        {isOperator && (
          <>
            {" "}
            <a href="/fleet">Fleet</a>
          </>
        )}
      </p>
      {reasons.length > 1 && (
        <ul>
          {reasons.map((reason) => (
            <li>
              {`${reason.jobs}:`}
              <Why reasons={[reason]} isOperator={isOperator} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

const Why = ({ reasons, isOperator }: Props) => (
  <>{reasons.map((reason) => ` ${modelWaitText(reason, isOperator)}`)}</>
);

/** A page of a model, as the end of its path. */
type ModelPage = "" | "/examples" | "/overview" | "/api" | "/versions" | "/variables" | "/settings";

export const modelAddress = (
  { owner, name }: Pick<DetailedModelRow, "owner" | "name">,
  page: string = "",
) => `/models/${owner.username}/${name}${page}`;

export const ModelHeader = ({
  model,
  viewer,
  page,
  estimate,
}: {
  model: DetailedModelRow;
  viewer: Viewer | undefined;
  page: ModelPage;
  /** Expectations of a run; undefined for a model without a version. */
  estimate: VersionEstimate | undefined;
}) => (
  <header class="model-header">
    <h1>
      <a href={`/models/${model.owner.username}`}>{model.owner.username}</a>
      <span class="slash">/</span>
      <a href={modelAddress(model)}>{model.name}</a>
    </h1>
    <VisibilityBadge visibility={model.visibility} />
    {isSuspended(model.owner) && (
      <p class="flash warning">
        The account of this model's owner is suspended. The model still runs, but is not maintained.
      </p>
    )}
    {model.description && (
      <p class="description" dir="auto">
        {model.description}
      </p>
    )}
    {estimate && (
      <div data-expected>
        <Facts
          model={model}
          runEstimate={estimate.runEstimate}
          configuration={estimate.version.configuration}
        />
        {estimate.wait && (
          <Waiting reasons={estimate.wait} isOperator={viewer?.operator ?? false} />
        )}
      </div>
    )}
    <Tabs
      label={`Pages of ${model.name}`}
      current={modelAddress(model, page)}
      tabs={[...PAGES, ...(isOwner(model, viewer) ? OWNER_PAGES : [])].map(([end, name]) => [
        modelAddress(model, end),
        name,
      ])}
    />
  </header>
);

const PAGES: [page: ModelPage, name: string][] = [
  ["", "Playground"],
  ["/examples", "Examples"],
  ["/overview", "Overview"],
  ["/api", "API"],
  ["/versions", "Versions"],
];

const OWNER_PAGES: typeof PAGES = [
  ["/variables", "Variables"],
  ["/settings", "Settings"],
];

export const isOwner = ({ owner }: Pick<DetailedModelRow, "owner">, viewer: Viewer | undefined) =>
  owner.id === viewer?.user.id;

/** The badge is shown only for models that are not public. */
export const VisibilityBadge = ({ visibility }: { visibility: Visibility }) =>
  visibility === "public" ? null : <span class="badge">{visibility}</span>;
