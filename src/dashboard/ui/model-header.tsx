/** The header of every page of a model: name, estimate of a run, description, and tabs. */
import type { Child } from "hono/jsx";
import { hasRole } from "../../domain/accounts/access.ts";
import type { RunEstimate } from "../../domain/models/run-estimate.ts";
import type { SomeReason } from "../../domain/scheduling/decide/explain-class.ts";
import { modelWaitText } from "../../domain/scheduling/explanation.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { Visibility } from "../../protocol/model.ts";
import { isSuspended } from "../../services/access/access.ts";
import { readModel, readModelTo } from "../../services/models/models.ts";
import { readEstimate, type VersionEstimate } from "../../services/runners/run-estimate.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { viewerOf } from "../access.ts";
import { organizationAddress } from "../addresses.ts";
import { isPersonal, type PageContext, type Viewer } from "../context.ts";
import { duration } from "./duration.ts";
import { Empty, Price, Tabs } from "./parts.tsx";
import { RemoteNotice } from "./remote-notice.tsx";

/** A page of a model, as the end of its path. */
type ModelPage =
  | ""
  | "/examples"
  | "/overview"
  | "/api"
  | "/versions"
  | "/variables"
  | "/metrics"
  | "/settings";

const PAGES: [page: ModelPage, name: string][] = [
  ["", "Playground"],
  ["/examples", "Examples"],
  ["/overview", "Overview"],
  ["/api", "API"],
  ["/versions", "Versions"],
];

const OWN_PAGES: typeof PAGES = [
  ["/variables", "Variables"],
  ["/metrics", "Metrics"],
];
const SETTINGS: typeof PAGES = [["/settings", "Settings"]];

export const modelAddress = (
  { owner, name }: Pick<DetailedModelRow, "owner" | "name">,
  page: string = "",
) => `/models/${owner.username}/${name}${page}`;

export const referenceOf = ({ owner, name }: Pick<DetailedModelRow, "owner" | "name">) =>
  `${owner.username}/${name}`;

/** Whether a viewer acts for the owner of a model, with a role that may change it. */
export const isOwner = ({ owner }: Pick<DetailedModelRow, "owner">, viewer: Viewer | undefined) =>
  owner.id === viewer?.account.id && hasRole(viewer.caller, "developer");

/** Whether a viewer may publish versions, and edit texts and examples. */
export const mayWrite = (
  model: Pick<DetailedModelRow, "owner" | "level">,
  viewer: Viewer | undefined,
) =>
  isOwner(model, viewer) ||
  (model.level === "write" && viewer !== undefined && hasRole(viewer.caller, "developer"));

/** Reads the model that the address of the page names. @throws ProblemError not_found */
export function modelOf(c: PageContext): Promise<DetailedModelRow> {
  const { owner = "", name = "" } = c.req.param();
  return readModel(c.var.services, c.var.viewer?.caller, owner, name);
}

/**
 * Reads it for its owner alone, or with `write` for collaborators as well.
 * @throws ProblemError not_found, forbidden
 */
export function ownModelOf(
  c: PageContext,
  use: "write" | "change" = "change",
): Promise<DetailedModelRow> {
  const { owner = "", name = "" } = c.req.param();
  return readModelTo(c.var.services, viewerOf(c).caller, [owner, name], use);
}

/** Renders a 404 for a version that a page's address names. @throws other errors */
export function renderVersionNotFound(
  c: PageContext,
  model: DetailedModelRow,
  number: number,
  error: unknown,
) {
  if (!(error instanceof ProblemError) || error.code !== "not_found") throw error;
  c.status(404);
  return renderModel(
    c,
    { model, page: "/versions", title: `Versions of ${referenceOf(model)}` },
    <Empty title={`Version ${number} not found`}>
      <p>
        <a href={modelAddress(model, "/versions")}>View all versions</a>
      </p>
    </Empty>,
  );
}

/** Asks the pool for the estimate of a run. */
export function readModelEstimate(
  { var: { services, viewer } }: PageContext,
  model: DetailedModelRow,
  version: VersionRow,
): Promise<VersionEstimate> {
  const seesWait = (viewer?.operator ?? false) || isOwner(model, viewer);
  return readEstimate(services, viewer?.caller, { model, version, seesWait });
}

interface RenderedPage {
  model: DetailedModelRow;
  page: ModelPage;
  /** The version that the page is about; the model's default version if undefined. */
  version?: VersionRow;
  /** The estimate of a run where the page has asked for it already. */
  estimate?: Promise<VersionEstimate>;
  title: string;
  scripts?: string[];
}

/** Renders a page of a model. The pool is asked for the estimate of a run while `content` loads. */
export async function renderModel(
  c: PageContext,
  { model, page, version, estimate: asked, ...props }: RenderedPage,
  content: Child | Promise<Child>,
) {
  const { viewer } = c.var;
  const isOperator = viewer?.operator ?? false;
  const run = version ?? defaultVersion(model);
  const [body, estimate] = await Promise.all([
    content,
    asked ?? (run && readModelEstimate(c, model, run)),
  ]);
  return c.render(
    <>
      <header class="model-header">
        <div class="bar">
          <h1>
            <a href={`/models/${model.owner.username}`}>{model.owner.username}</a>
            <span class="slash quiet">/</span>
            <a href={modelAddress(model)}>{model.name}</a>
          </h1>
          <VisibilityBadge visibility={model.visibility} />
          {estimate && <Expected estimate={estimate} />}
          {viewer && isPersonal(viewer) && isMemberOf(model.owner, viewer) && (
            <a href={organizationAddress(model.owner) + modelAddress(model, page)}>
              {`Open as ${model.owner.username}`}
            </a>
          )}
        </div>
        {isSuspended(model.owner) && (
          <p class="flash warning">
            The owner's account is suspended. The model still runs, but is not maintained.
          </p>
        )}
        {model.description && (
          <p class="quiet clip" dir="auto" title={model.description}>
            {model.description}
          </p>
        )}
        <RemoteNotice version={run} />
        <div data-expected>
          {estimate?.wait && <Waiting reasons={estimate.wait} isOperator={isOperator} />}
        </div>
        <Tabs
          label={`Pages of ${model.name}`}
          current={modelAddress(model, page)}
          tabs={[
            ...PAGES,
            ...(isOwner(model, viewer) ? OWN_PAGES : []),
            ...(mayWrite(model, viewer) ? SETTINGS : []),
          ].map(([end, name]) => [modelAddress(model, end), name])}
        />
      </header>
      {body}
    </>,
    props,
  );
}

const isMemberOf = ({ id }: { id: string }, { organizations }: Viewer): boolean =>
  organizations.some(({ organization }) => organization.id === id);

export const VisibilityBadge = ({ visibility }: { visibility: Visibility }) =>
  visibility === "public" ? null : <span class="badge">{visibility}</span>;

/** The sign, the name and the meaning of each state. */
const STATES: Record<
  Exclude<RunEstimate["state"], "unknown">,
  [sign: string, name: string, text: string]
> = {
  warm: ["succeeded", "Warm", ""],
  busy: ["started", "At capacity", "New runs are queued"],
  cold: ["cold", "Cold start", ""],
  away: ["offline", "Offline", "No runners available"],
};

function Readiness({ runEstimate: { state, setup_seconds } }: { runEstimate: RunEstimate }) {
  if (state === "unknown") return null;
  const [sign, name, text] = STATES[state];
  const setup =
    state === "cold" && setup_seconds !== null ? `~${duration(setup_seconds)}` : undefined;
  return (
    <li>
      <span class={`status ${sign}`}>{name}</span> {setup ?? text}
    </li>
  );
}

const Expected = ({ estimate: { runEstimate, hardware } }: { estimate: VersionEstimate }) => (
  <ul class="bar hint numbers" data-expected>
    <Readiness runEstimate={runEstimate} />
    {runEstimate.run_seconds !== null && (
      <li title="Average of about the last 50 runs of this version, from all accounts">
        {`Average run time: ${duration(runEstimate.run_seconds)}`}
      </li>
    )}
    {runEstimate.run_price !== null && (
      <li>
        {runEstimate.run_price === 0 ? (
          "Free"
        ) : (
          <>
            ~<Price value={runEstimate.run_price} /> per run
          </>
        )}
      </li>
    )}
    <li>
      <span class="visually-hidden">Hardware: </span>
      <bdi>{hardware}</bdi>
    </li>
  </ul>
);

interface WaitingProps {
  reasons: SomeReason[];
  isOperator: boolean;
}

function Waiting({ reasons, isOperator }: WaitingProps) {
  const all = reasons.reduce((sum, { jobs }) => sum + jobs, 0);
  if (all === 0) return null;
  const longest = Date.now() - Math.min(...reasons.map(({ since }) => since));
  return (
    <div class="warning-note">
      <p class="flush">
        <strong>{`${all} prediction${all === 1 ? "" : "s"} queued`}</strong>
        {` (${all === 1 ? "for" : "longest"} ${duration(Math.max(0, longest) / 1_000)}).`}
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

const Why = ({ reasons, isOperator }: WaitingProps) => (
  <>{reasons.map((reason) => ` ${modelWaitText(reason, isOperator)}`)}</>
);
