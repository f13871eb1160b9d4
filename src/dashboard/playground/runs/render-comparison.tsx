/** Renders the comparison of two runs of the model that the address names. */
import { notFound } from "../../../errors.ts";
import { viewPrediction } from "../../../services/predictions/prediction-view.ts";
import { recentRuns } from "../../../services/predictions/recent-runs.ts";
import type { DetailedModelRow } from "../../../storage/models/models.ts";
import { viewerOf } from "../../access.ts";
import type { PageContext } from "../../context.ts";
import { expectedOf } from "../../models/expected.ts";
import { inputFields } from "../input.ts";
import { findVersion } from "../render.tsx";
import { type ComparedRun, ComparePage } from "./compare.tsx";

/** Of one's own runs, as anywhere. @throws ProblemError not_found */
export async function renderComparison(c: PageContext, a: string | undefined, b: string) {
  const { services, origin } = c.var;
  const viewer = viewerOf(c);
  const { model, version } = await findVersion(c);
  const reference = `${model.owner.username}/${model.name}`;
  const read = (id: string) => readRun(c, model, id);
  const [runs, expected, first, second] = await Promise.all([
    recentRuns(services, viewer.caller, reference, version, c.req.url),
    expectedOf(c, model),
    a ? read(a) : undefined,
    b ? read(b) : undefined,
  ]);
  const both: [ComparedRun, ComparedRun] | undefined = first && second && [first, second];
  const fields = version ? inputFields(version) : [];
  const comparison = { model, expected, runs, fields, both, host: new URL(origin).host };
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
