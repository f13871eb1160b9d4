/** `/`: the landing page of visitors, the first steps of new users, and the overview of others. */
import type { PropsWithChildren } from "hono/jsx";
import { hasRole } from "../../domain/accounts/access.ts";
import {
  daysOfMonth,
  monthOf,
  START_CHECK,
  type UsageReport,
} from "../../domain/accounts/usage.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { ModelItem } from "../../protocol/model.ts";
import { ownerName } from "../../protocol/user.ts";
import { getOwnUsage } from "../../services/accounts/usage.ts";
import { sampleInput } from "../../services/models/examples.ts";
import { readGallery } from "../../services/models/gallery.ts";
import { listModels, listOwnModels, readModel } from "../../services/models/models.ts";
import type { PageRequest } from "../../services/pagination.ts";
import {
  type ListedPrediction,
  viewPredictions,
} from "../../services/predictions/prediction-view.ts";
import { readFleet } from "../../services/runners/fleet.ts";
import { isServed } from "../../services/runners/run-estimate.ts";
import { isSetUp } from "../../services/sign-in/operators.ts";
import { defaultVersion } from "../../storage/models/models.ts";
import { Totals } from "../account/totals.tsx";
import { isPersonal, type PageContext, pages, type Viewer } from "../context.ts";
import { type Gallery, ModelCards } from "../models/list.tsx";
import { BODIES } from "../playground/code/bodies.ts";
import { shellSample } from "../playground/code/samples.ts";
import { PredictionTable } from "../predictions/list.tsx";
import { publishState } from "../publish/ways.tsx";
import { Empty, Fact } from "../ui/parts.tsx";
import { Table } from "../ui/table.tsx";
import { FirstSteps, isDone } from "./first-steps.tsx";
import { Landing } from "./landing.tsx";

type Fleet = Awaited<ReturnType<typeof readFleet>>;

interface Props {
  viewer: Viewer;
  /** Undefined for a member of an organization who does not see its usage. */
  month: UsageReport | undefined;
  fleet: Fleet | undefined;
  failed: ListedPrediction[];
  models: ModelItem[];
  gallery: Gallery;
  predictions: ListedPrediction[];
}

const Overview = ({ viewer, month, fleet, failed, models, gallery, predictions }: Props) => (
  <div class="overview">
    {month && month.total.predictions > 0 && (
      <Section
        title="This month"
        more={[`/account/usage?month=${monthOf(Date.now())}`, "View usage"]}
      >
        <Totals {...month.total} />
      </Section>
    )}
    {month && <FailingModels models={month.models} />}
    {fleet?.pools.some(({ runners }) => runners.length > 0) && <FleetHealth {...fleet} />}
    {failed.length > 0 && (
      <Section
        title="Failed in the last 7 days"
        more={["/predictions?statuses=failed", "View all failures"]}
      >
        <PredictionTable predictions={failed} />
      </Section>
    )}
    {predictions.length > 0 && (
      <Section title="Recent predictions" more={["/predictions", "View all"]}>
        <div data-list data-first="true">
          <PredictionTable predictions={predictions} />
        </div>
      </Section>
    )}
    {models.length > 0 && (
      <Section
        title={isPersonal(viewer) ? "Your models" : "Models"}
        more={[`/models/${viewer.account.username}`, "View all"]}
      >
        <ModelCards models={models} gallery={gallery} />
      </Section>
    )}
  </div>
);

/** The name of an organization, and what to do in an empty one. */
const About = ({ viewer: { account, caller }, isEmpty }: { viewer: Viewer; isEmpty: boolean }) => (
  <>
    <p class="hint">
      {account.name !== "" && (
        <>
          <bdi>{account.name}</bdi>
          {" · "}
        </>
      )}
      Your role: {caller.role}
    </p>
    {isEmpty && (
      <Empty title="Nothing here yet">
        <p>What you run, create and publish here belongs to {account.username}.</p>
        <p class="flow actions">
          {hasRole(caller, "developer") && (
            <a class="button primary" href="/models/publish">
              Publish a model
            </a>
          )}
          <a class="button quiet" href="/models">
            Browse models
          </a>
        </p>
      </Empty>
    )}
  </>
);

/** @param more the address and words of the page that has all of it */
function Section({
  title,
  more: [address, words],
  children,
}: PropsWithChildren<{ title: string; more: [string, string] }>) {
  const id = `${title.toLowerCase().replaceAll(/\W+/g, "-")}-title`;
  return (
    <section aria-labelledby={id}>
      <div class="bar spread title-row">
        <h2 id={id}>{title}</h2>
        <a href={address}>{words}</a>
      </div>
      {children}
    </section>
  );
}

const MAX_FAILING = 5;

function FailingModels({ models }: Pick<UsageReport, "models">) {
  const failing = models
    .filter(({ model, failed }) => model !== undefined && failed > 0)
    .toSorted((a, b) => b.failed / b.predictions - a.failed / a.predictions)
    .slice(0, MAX_FAILING);
  if (failing.length === 0) return null;
  return (
    <Section
      title="Failing models"
      more={[`/account/usage?month=${monthOf(Date.now())}`, "View by model"]}
    >
      <Table
        columns={["Model", { name: "Failed", is: "number" }, { name: "Predictions", is: "number" }]}
      >
        {failing.map(({ model = "", failed, predictions }) => (
          <tr>
            <th scope="row">
              <a href={`/predictions?${new URLSearchParams({ model, statuses: "failed" })}`}>
                {model}
              </a>
            </th>
            <td class="number">{`${failed} (${Math.ceil((100 * failed) / predictions)}%)`}</td>
            <td class="number">{predictions}</td>
          </tr>
        ))}
      </Table>
    </Section>
  );
}

/** Runners that stopped on purpose are not counted. */
function FleetHealth({ pools, complete }: Fleet) {
  const runners = pools.flatMap((pool) => pool.runners).filter(({ state }) => state !== "stopped");
  const queues = pools.flatMap(({ classes }) => classes.map(({ queue }) => queue));
  const unwell = runners.filter(
    ({ state, set_aside_until }) => state !== "ready" || set_aside_until !== null,
  );
  const online = runners.filter(({ state }) => state === "ready" || state === "draining");
  return (
    <Section title="Fleet" more={["/fleet", "View fleet"]}>
      <dl class="figures totals">
        <Fact name="Runners online">{`${online.length} of ${complete ? "" : "the newest "}${runners.length}`}</Fact>
        <Fact name="Running">{runners.reduce((sum, one) => sum + one.running.length, 0)}</Fact>
        <Fact name="Queued">{queues.reduce((sum, one) => sum + (one.waiting ?? 0), 0)}</Fact>
      </dl>
      {unwell.length > 0 && (
        <ul class="bar small">
          {unwell.slice(0, MAX_FAILING).map(({ id, name, state, set_aside_until }) => (
            <li>
              <a href={`/fleet/runners/${id}`}>
                <bdi>{name}</bdi>
              </a>{" "}
              {state === "ready" && set_aside_until !== null ? (
                <span class="status warning">not starting containers</span>
              ) : (
                <span class={`status ${state}`}>{state}</span>
              )}
            </li>
          ))}
        </ul>
      )}
    </Section>
  );
}

/**
 * @param path `owner/name`; undefined: of none
 * @returns undefined for a model that has no version to call, or is not seen any more
 */
async function callCommand(
  c: PageContext,
  { caller }: Viewer,
  path: string | undefined,
): Promise<string | undefined> {
  if (path === undefined) return undefined;
  const { services, origin } = c.var;
  const [owner = "", name = ""] = path.split("/");
  const model = await readModel(services, caller, owner, name).catch((error) => {
    if (error instanceof ProblemError && error.code === "not_found") return undefined;
    throw error;
  });
  const version = model && defaultVersion(model);
  if (!version) return undefined;
  const input = await sampleInput(services, version, origin);
  return shellSample("predictions", origin, BODIES.predictions({ origin, reference: path, input }));
}

const SHOWN = 6;
const SHOWN_FAILURES = 5;
/** How long a runner or a pool may take: the page of the fleet waits longer. */
const FLEET_MS = 300;
const WEEK_MS = 7 * 86_400_000;

export const homePages = pages().get("/", showHome);

/** Shows the home of the viewer, or the overview of the organization in the address. */
export async function showHome(c: PageContext) {
  const { viewer, services, origin } = c.var;
  if (!viewer) {
    const page = <Landing isSetUp={await isSetUp(services)} origin={origin} />;
    return c.render(page, { title: "Models on your own GPUs" });
  }
  const { title, page } = await home(c, viewer);
  return c.render(page, { title, scripts: ["home"] });
}

async function home(c: PageContext, viewer: Viewer) {
  const { caller, account } = viewer;
  const { username } = account;
  const isOwn = isPersonal(viewer);
  const operator = viewer.operator && isOwn;
  const { services, origin, assets } = c.var;
  const first = { cursor: undefined, size: SHOWN, url: c.req.url };
  const now = Date.now();
  const failures = {
    statuses: ["failed" as const],
    created_after: new Date(now - WEEK_MS).toISOString(),
    page_size: SHOWN_FAILURES,
  };
  const [{ models, gallery }, predictions, failed, month, fleet] = await Promise.all([
    ownModels(c, viewer, first),
    viewPredictions(services, caller, { statuses: [], page_size: SHOWN }, first),
    viewPredictions(services, caller, failures, { ...first, size: SHOWN_FAILURES }),
    // The days of this month so far.
    hasRole(caller, "developer")
      ? getOwnUsage(services, caller, daysOfMonth(monthOf(now), now))
      : undefined,
    operator ? readFleet(services, FLEET_MS) : undefined,
  ]);
  const [model] = models.items;
  const [prediction] = predictions.items;
  const runners = fleet?.pools.flatMap((pool) => pool.runners);
  const progress = {
    hasRunner: operator ? await isServed(services, undefined) : undefined,
    runner: runners?.at(0),
    model,
    prediction,
    // A user who has made more predictions than one page is past the first steps.
    hasCalled:
      predictions.next_url !== null ||
      predictions.items.some(({ token }) => token && token !== START_CHECK.token_name),
  };
  const hasStarted = !isOwn || isDone(progress);
  const title = isOwn ? (hasStarted ? "Home" : "Get started") : username;
  const page = (
    <>
      <h1>{title}</h1>
      {!isOwn && <About viewer={viewer} isEmpty={!model && !prediction} />}
      {!hasStarted && (
        <FirstSteps
          progress={progress}
          origin={origin}
          username={username}
          runner={assets.runner}
          call={
            await callCommand(
              c,
              viewer,
              prediction?.model ?? ownPath(account, model) ?? (await mostUsed(c, viewer, first)),
            )
          }
          publish={model ? undefined : await publishState(c, undefined)}
        />
      )}
      <Overview
        viewer={viewer}
        month={month}
        fleet={fleet}
        failed={failed.items}
        models={models.items}
        gallery={gallery}
        predictions={predictions.items}
      />
    </>
  );
  return { title, page };
}

const ownPath = ({ username }: Viewer["user"], model: ModelItem | undefined) =>
  model && `${username}/${model.name}`;

async function mostUsed(c: PageContext, { caller }: Viewer, first: PageRequest) {
  const order = { sort_by: "predictions_count", sort_direction: "desc" } as const;
  const filters = { ...order, category_slugs: [] };
  const { items } = await listModels(c.var.services, caller, undefined, filters, first);
  const [model] = items;
  return model && `${ownerName(model.owner)}/${model.name}`;
}

async function ownModels(c: PageContext, { caller }: Viewer, first: PageRequest) {
  const { services, origin } = c.var;
  const models = await listOwnModels(services, caller, first);
  const ids = models.items.map(({ id }) => id);
  return { models, gallery: await readGallery(services, caller, ids, origin) };
}
