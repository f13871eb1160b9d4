/** `/models/{owner}/{name}/playground`: to try a model, and to come back to a run of it. */
import { z } from "zod";
import { type Input, inputOf } from "../../domain/schemas/input-form-values.ts";
import { notFound } from "../../errors.ts";
import { limitRate } from "../../middleware/rate-limit.ts";
import { integerText } from "../../protocol/common.ts";
import { createPredictionOfVersion } from "../../protocol/prediction.ts";
import { bodyOf } from "../../routes/context.ts";
import { createPrediction } from "../../services/predictions/create-prediction.ts";
import { type PredictionView, viewPrediction } from "../../services/predictions/prediction-view.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { signedIn, viewerOf } from "../access.ts";
import { type PageContext, pages } from "../context.ts";
import { textOf } from "../form.ts";
import { carried, formWith, type PlayForm, playFields, sentForm } from "./input.ts";
import { SHOW, SHOWN } from "./names.ts";
import { refused } from "./refused.ts";
import { placeOf, type Shown, show, showNone } from "./show.tsx";
import { uploadPages } from "./upload-routes.ts";

const ADDRESS = "/models/:owner/:name/playground";

/** What it cannot be is as if it had not been asked for: addresses are typed, too. */
const asked = z.object({
  version: integerText(1, 999_999_999).optional().catch(undefined),
  run: z.string().optional(),
  as: z.string().optional(),
  tab: z.enum(["output", "code"]).default("output").catch("output"),
});

/** What client code sends. */
const order = z.object({
  version: z.int().positive().optional(),
  input: createPredictionOfVersion.shape.input,
});

export const playPages = pages()
  .route("/", uploadPages)
  .get(ADDRESS, signedIn, async (c) => {
    const { version: number, run: id, as, tab } = asked.parse(c.req.query());
    const { services, origin } = c.var;
    const run =
      id === undefined ? undefined : await viewPrediction(services, viewerOf(c).caller, id, origin);
    const { model, version } = await placeOf(c, number, run?.prediction.model.version_number);
    if (run && run.model !== `${model.owner.username}/${model.name}`)
      throw notFound(`The prediction '${id}' of this model`);
    if (!version) return showNone(c, model);
    const given = inputIn(run);
    const form = formWith(playFields(version), given, as === "json");
    const input = given ?? inputOf(form.fields).input;
    return show(c, { model, version, form, input, run, tab, note: noteOn(run, version) });
  })
  .post(ADDRESS, signedIn, async (c) => {
    if (c.req.header("content-type")?.startsWith("application/json")) {
      const { version, input } = await bodyOf(c, order);
      return c.json({ id: await begin(c, version, input) });
    }
    const sent = await c.req.formData();
    const { version: number } = asked.parse({ version: textOf(sent, "version") });
    const { model, version } = await placeOf(c, number);
    if (!version) return showNone(c, model);
    const { form, input } = sentForm(playFields(version), sent);
    if (sent.has(SHOWN)) return change(c, form, textOf(sent, SHOW));
    const again: Shown = { model, version, form, input, tab: "output" };
    if (Object.keys(form.issues).length > 0) return show(c, again, 422);
    try {
      const id = await begin(c, version.number, input);
      return c.redirect(`${c.req.path}?run=${id}`, 303);
    } catch (error) {
      const { status, ...draft } = refused(error, form);
      return show(c, { ...again, ...draft }, status);
    }
  });

/** The same form for another version. */
async function change(c: PageContext, from: PlayForm, number: string) {
  const { model, version } = await placeOf(c, asked.parse({ version: number }).version);
  if (!version) return showNone(c, model);
  const form = carried(from, playFields(version));
  return show(c, { model, version, form, input: inputOf(form.fields).input, tab: "output" });
}

/** Counts as creating by the API does. @returns the prediction's id */
async function begin(c: PageContext, version: number | undefined, input: Input): Promise<string> {
  const { services, origin } = c.var;
  const { user, caller } = viewerOf(c);
  await limitRate(c, "predictions", user.id);
  const model = `${c.req.param("owner")}/${c.req.param("name")}`;
  const reference = version === undefined ? model : `${model}:${version}`;
  const { snapshot } = await createPrediction(
    services,
    caller,
    reference,
    { input, stream: true },
    { origin, validateInput: true, waitSeconds: 0, cancelAfterSeconds: null },
  );
  return snapshot.id;
}

/** An input that is gone, or too large for a page, is none. */
const inputIn = (run: PredictionView | undefined): Input | undefined =>
  typeof run?.input === "object" && run.input !== null && !Array.isArray(run.input)
    ? run.input
    : undefined;

function noteOn(run: PredictionView | undefined, version: VersionRow): string | undefined {
  if (!run) return undefined;
  if (run.dataRemoved)
    return "The input of this prediction was removed. The form shows the defaults.";
  if (run.input === undefined) return "The input of this prediction is too large to show here.";
  const { version_number: number } = run.prediction.model;
  return number === version.number
    ? undefined
    : `This prediction ran version ${number}. The form is for version ${version.number}.`;
}
