/** `/`: the landing page of visitors, the first steps of new users, and the news of others. */

import { exampleInput } from "../../domain/schemas/example-input.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { ProblemError } from "../../errors/errors.ts";
import type { ModelItem } from "../../protocol/model.ts";
import { ownerName } from "../../protocol/user.ts";
import { readGallery } from "../../services/models/gallery.ts";
import { listModels, listOwnModels, readModel } from "../../services/models/models.ts";
import type { PageRequest } from "../../services/pagination.ts";
import {
  type ListedPrediction,
  viewPredictions,
} from "../../services/predictions/prediction-view.ts";
import { listRunners } from "../../services/runners/fleet.ts";
import { isServed } from "../../services/runners/run-estimate.ts";
import { isSetUp } from "../../services/sign-in/operators.ts";
import { defaultVersion } from "../../storage/models/models.ts";
import { type PageContext, pages, type Viewer } from "../context.ts";
import { type Gallery, ModelCards } from "../models/list.tsx";
import { BODIES } from "../playground/code/bodies.ts";
import { shellSample } from "../playground/code/samples.ts";
import { PredictionTable } from "../predictions/list.tsx";
import { publishState } from "../publish/ways.tsx";
import { FirstSteps, isDone } from "./first-steps.tsx";

interface Props {
  username: string;
  models: ModelItem[];
  gallery: Gallery;
  predictions: ListedPrediction[];
}

const Overview = ({ username, models, gallery, predictions }: Props) => (
  <div class="overview">
    {predictions.length > 0 && (
      <section aria-labelledby="latest-title">
        <div class="bar spread title-row">
          <h2 id="latest-title">Latest predictions</h2>
          <a href="/predictions">All predictions</a>
        </div>
        <div data-list data-first="true">
          <PredictionTable predictions={predictions} />
        </div>
      </section>
    )}
    {models.length > 0 && (
      <section aria-labelledby="models-title">
        <div class="bar spread title-row">
          <h2 id="models-title">Your models</h2>
          <a href={`/models/${username}`}>All of them</a>
        </div>
        <ModelCards models={models} gallery={gallery} />
      </section>
    )}
  </div>
);

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
  const input = exampleInput(versionSchema(version.schemas, "input"));
  return shellSample("predictions", origin, BODIES.predictions({ origin, reference: path, input }));
}

const SHOWN = 6;

export const homePages = pages().get("/", async (c) => {
  const { viewer } = c.var;
  if (!viewer) {
    const isReady = await isSetUp(c.var.services);
    return c.render(<Landing isSetUp={isReady} />, { title: "Models on your own GPUs" });
  }
  const { title, page } = await home(c, viewer);
  return c.render(page, { title, scripts: ["home"] });
});

async function home(c: PageContext, viewer: Viewer) {
  const { caller, user, operator } = viewer;
  const { services, origin, assets } = c.var;
  const first = { cursor: undefined, size: SHOWN, url: c.req.url };
  const [{ models, gallery }, predictions, hasRunner] = await Promise.all([
    ownModels(c, viewer, first),
    viewPredictions(services, caller, { statuses: [], page_size: SHOWN }, first),
    operator ? isServed(services, undefined) : undefined,
  ]);
  const [model] = models.items;
  const [prediction] = predictions.items;
  const progress = {
    hasRunner,
    model,
    prediction,
    // A user who has made more predictions than one page is past the first steps.
    hasCalled: predictions.next_url !== null || predictions.items.some(({ token }) => token),
  };
  const hasStarted = isDone(progress);
  const title = hasStarted ? "Home" : "Get started";
  const page = (
    <>
      <h1>{title}</h1>
      {!hasStarted && (
        <>
          <p>
            <a href="/models">Find a model</a> and try it in its playground, or publish your own.
          </p>
          <FirstSteps
            progress={{ ...progress, runner: hasRunner ? await newestRunner(c) : undefined }}
            origin={origin}
            username={user.username}
            runner={assets.runner}
            call={
              await callCommand(
                c,
                viewer,
                prediction?.model ?? ownPath(user, model) ?? (await mostUsed(c, viewer, first)),
              )
            }
            publish={model ? undefined : await publishState(c, undefined)}
          />
        </>
      )}
      <Overview
        username={user.username}
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

async function newestRunner(c: PageContext) {
  const first = { cursor: undefined, size: 1, url: c.req.url };
  const { items } = await listRunners(c.var.services, first);
  return items[0];
}

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

const Landing = ({ isSetUp }: { isSetUp: boolean }) => (
  <>
    <div class="hero">
      <h1>Models on your own GPUs</h1>
      <p>
        Publish a model once, call it over HTTPS from anywhere and stream its output. Your GPUs stay
        where they are.
      </p>
      <p class="flow actions">
        <a class="button primary" href="/sign-in">
          Sign in
        </a>
        <a class="button quiet" href="/models">
          Browse models
        </a>
        <a class="button quiet" href="/docs">
          Read the API reference
        </a>
      </p>
    </div>
    {!isSetUp && (
      <p class="hint">
        Deployed this yourself? <a href="/set-up">Set it up</a> with your operator token.
      </p>
    )}
  </>
);
