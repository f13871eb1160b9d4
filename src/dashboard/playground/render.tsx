/** Renders the playground for a model and version. */

import type { ContentfulStatusCode } from "hono/utils/http-status";
import { figuresOf } from "../../domain/predictions/estimate.ts";
import { schemaShape } from "../../domain/schemas/json-schema-shape.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { ProblemError } from "../../errors/errors.ts";
import { exampleChoices } from "../../services/models/examples.ts";
import { listVersions, readVersion } from "../../services/models/versions.ts";
import { recentRuns } from "../../services/predictions/recent-runs.ts";
import { findRefusal } from "../../services/predictions/reservation.ts";
import { ownRuns } from "../../services/runners/prediction-estimate.ts";
import { withTimeout } from "../../services/with-timeout.ts";
import { type DetailedModelRow, defaultVersion } from "../../storage/models/models.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import type { PageContext } from "../context.ts";
import { modelOf, readModelEstimate, referenceOf, renderModel } from "../ui/model-header.tsx";
import type { PlaygroundState } from "./address.ts";
import { Playground } from "./page.tsx";
import { ownView, type View } from "./views.ts";

const MAX_LISTED = 50;

/** How long the page waits for the account's runs. */
const OWN_MS = 500;

const SCRIPTS: Record<View, string> = {
  form: "playground",
  chat: "chat",
  images: "media",
  speech: "media",
  transcription: "media",
};

interface VersionOfModel {
  model: DetailedModelRow;
  version: VersionRow | undefined;
}

/**
 * @param number the requested version
 * @param predictionVersion the version of a prediction; replaced by the default when it has been deleted
 * @throws ProblemError not_found
 */
export async function findVersion(
  c: PageContext,
  number?: number,
  predictionVersion?: number,
): Promise<VersionOfModel> {
  const { services, viewer } = c.var;
  const { owner = "", name = "" } = c.req.param();
  const model = await modelOf(c);
  const runs = defaultVersion(model);
  const requested = number ?? predictionVersion;
  if (!runs || requested === undefined || requested === runs.number)
    return { model, version: runs ?? undefined };
  const version = await readVersion(services, viewer?.caller, owner, name, requested).catch(
    (error) => {
      const isGone = error instanceof ProblemError && error.code === "not_found";
      if (isGone && number === undefined) return { version: runs };
      throw error;
    },
  );
  return { model, version: version.version };
}

/**
 * Begins to read what the playground of a version shows with any input. The database may be far away, so the page
 * waits for these reads and for its example at the same time.
 */
export function beginReads(c: PageContext, model: DetailedModelRow, version: VersionRow) {
  const { services, origin, viewer } = c.var;
  const request = { cursor: undefined, size: MAX_LISTED, url: c.req.url };
  const reads = {
    versions: listVersions(services, model, request),
    examples: exampleChoices(services, model.id, origin),
    estimate: readModelEstimate(c, model, version),
    own: viewer ? withTimeout(ownRuns(services, viewer.caller, version), "an account", OWN_MS) : [],
  };
  // A page that fails before it awaits the reads has an error of its own.
  for (const read of Object.values(reads)) Promise.resolve(read).catch(() => {});
  return reads;
}

export type RenderedState = Omit<
  PlaygroundState,
  "versions" | "shape" | "view" | "runs" | "examples" | "figures" | "refusal"
> & {
  /** `own` is the version's own view where it has one besides the form. */
  wanted: "own" | "form";
  reads?: ReturnType<typeof beginReads>;
};

export async function renderPlayground(
  c: PageContext,
  { wanted, reads: begun, ...play }: RenderedState,
  status: ContentfulStatusCode = 200,
) {
  const { services, origin, viewer } = c.var;
  const { model, version } = play;
  const reads = begun ?? beginReads(c, model, version);
  const view: View = (viewer && wanted === "own" && ownView(version)) || "form";
  const content = async () => {
    const [page, runs, examples, { runEstimate, priced }, own] = await Promise.all([
      reads.versions,
      // Client code reads those of a chat when it is there.
      view === "chat" || !viewer
        ? []
        : recentRuns(services, viewer.caller, referenceOf(model), version, c.req.url),
      reads.examples,
      reads.estimate,
      reads.own,
    ]);
    const refusal =
      viewer &&
      (await withTimeout(
        findRefusal(services, viewer.caller, {}, version, priced),
        "an account",
        OWN_MS,
      ));
    const figures = own && figuresOf(own, runEstimate, priced);
    const numbers = page.items.map(({ number }) => number);
    const versions = numbers.includes(version.number) ? numbers : [...numbers, version.number];
    // Schemas that the form cannot use are still valid to publish.
    const shape = schemaShape.safeParse(versionSchema(version.schemas, "input")).data;
    return (
      <Playground
        play={{
          ...play,
          versions,
          runs,
          examples,
          shape,
          view,
          figures,
          refusal: refusal?.message,
        }}
        viewer={viewer}
        origin={origin}
      />
    );
  };
  c.status(status);
  const { estimate } = reads;
  const about = { model, version, estimate, title: referenceOf(model), scripts: [SCRIPTS[view]] };
  return renderModel(c, { ...about, page: "" }, content());
}
