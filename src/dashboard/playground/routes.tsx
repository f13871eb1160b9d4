/** `/models/{owner}/{name}`: runs a model, and shows a prediction of it again. Visitors log in to run it. */
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { z } from "zod";
import { type Input, readForm } from "../../domain/schemas/input-form-values.ts";
import { fieldMessages } from "../../domain/schemas/json-schema-validator.ts";
import { secretFieldsOf, withoutSecrets } from "../../domain/schemas/secret-fields.ts";
import { checkFinite, malformedJson, ValidationFailure } from "../../domain/schemas/validation.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { notFound, ProblemError, problemStatus } from "../../errors/errors.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { limitRate } from "../../middleware/rate-limit.ts";
import { integerText } from "../../protocol/common.ts";
import { createPredictionOfVersion } from "../../protocol/prediction.ts";
import {
  completeUpload as completeBody,
  createUpload as createBody,
} from "../../protocol/upload.ts";
import { parse, parseBody } from "../../routes/router.ts";
import { organizationNotFound } from "../../services/accounts/organizations.ts";
import { completeUpload } from "../../services/files/complete-upload.ts";
import { presentUpload } from "../../services/files/upload-view.ts";
import { createUpload, deleteUpload, getUpload } from "../../services/files/uploads.ts";
import { createPrediction } from "../../services/predictions/create-prediction.ts";
import { type PredictionView, viewPrediction } from "../../services/predictions/prediction-view.ts";
import { recentRuns } from "../../services/predictions/recent-runs.ts";
import type { UploadRow } from "../../storage/files/uploads.ts";
import type { VersionRow } from "../../storage/models/versions.ts";
import { requireUser, viewerOf } from "../access.ts";
import { accountsOf, addressIn, baseOf } from "../addresses.ts";
import { type PageContext, pages } from "../context.ts";
import { fieldText } from "../form.ts";
import { renderNoVersion } from "../publish/no-version.tsx";
import { fragment } from "../ui/layout.tsx";
import { modelAddress, modelOf, referenceOf, renderVersionNotFound } from "../ui/model-header.tsx";
import { openRun } from "./chat/open-run.ts";
import {
  JSON_FIELD,
  RUN_AS_FIELD,
  runAddress,
  SWITCH_BUTTON,
  VERSION_FIELD,
} from "./control-names.ts";
import { chosenExample, NO_EXAMPLE } from "./examples.tsx";
import {
  byControl,
  convertInput,
  inputFields,
  inputFor,
  type PlaygroundInput,
  readInputForm,
} from "./input.ts";
import { RecentRuns } from "./recent-runs.tsx";
import { beginReads, findVersion, type RenderedState, renderPlayground } from "./render.tsx";
import { isMediaView, ownView } from "./views.ts";

/** @throws errors that the input did not cause */
function rejectionOf(
  error: unknown,
  form: PlaygroundInput,
): { form: PlaygroundInput; problem?: string; status: ContentfulStatusCode } {
  if (error instanceof ProblemError && error.code !== "internal") {
    return { form, problem: error.message, status: problemStatus(error) };
  }
  if (!(error instanceof ValidationFailure)) throw error;
  const messages = fieldMessages(error.issues);
  const issues = form.asJson
    ? { [JSON_FIELD]: joinMessages(messages) }
    : byControl(form.fields, messages);
  const known = new Set(form.fields.map(({ name }) => name));
  const others = new Map([...messages].filter(([name]) => !known.has(name)));
  return {
    form: { ...form, issues },
    ...(!form.asJson && others.size > 0 && { problem: joinMessages(others) }),
    status: 422,
  };
}

const joinMessages = (messages: Map<string, string>) =>
  [...messages].map(([name, message]) => (name ? `${name}: ${message}` : message)).join(". ");

const ADDRESS = "/models/:owner/:name";

/** Invalid parameters are ignored: people edit URLs by hand. */
const playgroundQuery = z.object({
  version: integerText(1, 999_999_999).optional().catch(undefined),
  prediction: z.string().optional(),
  example: z.string().optional(),
  as: z.string().optional(),
  view: z.string().optional(),
  tab: z.enum(["output", "code"]).default("output").catch("output"),
});

const runRequest = z.object({
  version: z.int().positive().optional(),
  input: createPredictionOfVersion.shape.input,
});

export const playgroundPages = pages()
  .use("/uploads/*", requireUser)
  .post("/uploads", requireUser, async (c) => {
    const { caller } = viewerOf(c);
    return showUpload(
      c,
      await createUpload(c.var.services, caller, await parseBody(c, createBody)),
    );
  })
  .get("/uploads/:id", async (c) =>
    showUpload(c, await getUpload(c.var.services, viewerOf(c).caller, c.req.param("id"))),
  )
  .post("/uploads/:id/complete", async (c) => {
    const { etags } = await parseBody(c, completeBody);
    const { caller } = viewerOf(c);
    return showUpload(c, await completeUpload(c.var.services, caller, c.req.param("id"), etags));
  })
  .post("/uploads/:id/cancel", async (c) => {
    await deleteUpload(c.var.services, viewerOf(c).caller, c.req.param("id"));
    return c.json({});
  })
  .get(ADDRESS, (c, next) => {
    // Runs have owners.
    return c.req.query("prediction") === undefined ? next() : requireUser(c, next);
  })
  .get(ADDRESS, async (c) => {
    const elsewhere = addressToRun(c, c.req.query(RUN_AS_FIELD));
    if (elsewhere) {
      for (const [name, value] of Object.entries(c.req.query()))
        if (name !== RUN_AS_FIELD && name !== "prediction") elsewhere.searchParams.set(name, value);
      return c.redirect(elsewhere, 303);
    }
    const query = playgroundQuery.parse(c.req.query());
    const { version: number, prediction: id, as, tab } = query;
    const { services, origin, viewer } = c.var;
    const prediction =
      id === undefined ? undefined : await viewPrediction(services, viewerOf(c).caller, id, origin);
    const found = await findVersion(c, number, prediction?.prediction.model.version_number).catch(
      (error: unknown) => ({ error }),
    );
    if ("error" in found)
      return renderVersionNotFound(c, await modelOf(c), number ?? 0, found.error);
    const { model, version } = found;
    if (prediction && prediction.model !== `${model.owner.username}/${model.name}`)
      throw notFound(`The prediction '${id}' of this model`);
    if (!version) return renderNoVersion(c, model);
    const reads = beginReads(c, model, version);
    const own = viewer && ownView(version);
    const isChat = own === "chat" && query.view !== "form" && as !== "json";
    const chosen =
      prediction || (isChat && query.example === undefined)
        ? NO_EXAMPLE
        : await chosenExample(services, version, query.example, origin);
    const { example, isVersionGone } = chosen;
    const sent = inputOfView(prediction) ?? example?.input;
    const { input: given, left } = sent
      ? withoutSecrets(sent, secretFieldsOf(versionSchema(version.schemas, "input")))
      : { input: undefined, left: false };
    const form = inputFor(inputFields(version), given, as === "json");
    const input = given ?? readForm(form.fields).input;
    const { host } = new URL(origin);
    const opened =
      own === "chat" && prediction && given
        ? openRun(version, { prediction, input: given }, host)
        : undefined;
    // JSON is edited in the form, and so is what the chat cannot hold: an example, and some runs.
    const isOfForm = own === "chat" && !opened && (prediction ?? example);
    return renderPlayground(c, {
      model,
      version,
      reads,
      form,
      input,
      prediction,
      opened,
      example,
      isVersionGone,
      tab,
      note:
        chosen.note ??
        predictionNote(prediction, version, {
          secretsLeft: left,
          isTooMuch: isChat && !opened,
        }),
      wanted: query.view === "form" || as === "json" || isOfForm ? "form" : "own",
    });
  })
  .get(`${ADDRESS}/runs`, requireUser, async (c) => {
    const { services, origin } = c.var;
    const { caller } = viewerOf(c);
    const { prediction, view, version: number } = playgroundQuery.parse(c.req.query());
    const { model, version } = await findVersion(c, number);
    const runs = await recentRuns(
      services,
      caller,
      `${model.owner.username}/${model.name}`,
      version,
      c.req.url,
    );
    return fragment(
      c,
      <RecentRuns
        runs={runs}
        model={referenceOf(model)}
        address={modelAddress(model)}
        current={prediction === undefined ? undefined : { id: prediction }}
        host={new URL(origin).host}
        asForm={view === "form"}
        version={version?.number ?? 0}
        fields={version ? inputFields(version) : []}
      />,
    );
  })
  .post(ADDRESS, requireUser, async (c) => {
    if (c.req.header("content-type")?.startsWith("application/json")) {
      const sent = await c.req.text().then(parseExact).catch(asMalformed);
      const { version, input } = parse(runRequest, sent, "body");
      return c.json({ id: await startPrediction(c, version, input) });
    }
    const sent = await c.req.formData();
    const elsewhere = addressToRun(c, fieldText(sent, RUN_AS_FIELD));
    // The browser sends the form again, with all that was typed.
    if (elsewhere) return c.redirect(elsewhere, 307);
    const { version: number } = playgroundQuery.parse({ version: fieldText(sent, "version") });
    const { model, version } = await findVersion(c, number);
    if (!version) return renderNoVersion(c, model);
    const { form, input } = readInputForm(inputFields(version), sent);
    // The chat has no place for an input of the form.
    const wanted = isMediaView(fieldText(sent, "view")) ? "own" : "form";
    if (sent.has(SWITCH_BUTTON))
      return switchVersion(c, form, { number: fieldText(sent, VERSION_FIELD), wanted });
    const again: RenderedState = { model, version, form, input, tab: "output", wanted };
    if (Object.keys(form.issues).length > 0) return renderPlayground(c, again, 422);
    try {
      const id = await startPrediction(c, version.number, input);
      const asForm = fieldText(sent, "view") === "form" && ownView(version) !== undefined;
      return c.redirect(runAddress(c.req.path, id, asForm), 303);
    } catch (error) {
      const { status, ...draft } = rejectionOf(error, form);
      return renderPlayground(c, { ...again, ...draft }, status);
    }
  });

/** Returns the same playground of the account that is chosen to run the model. Undefined: it is that of the page. */
function addressToRun(c: PageContext, username: string | undefined): URL | undefined {
  const { viewer, origin } = c.var;
  if (!viewer || !username || username === viewer.account.username) return undefined;
  const account = accountsOf(viewer).find((one) => one.username === username);
  if (!account) throw organizationNotFound(username);
  const { owner, name } = c.req.param();
  return new URL(addressIn(baseOf({ ...viewer, account }), `/models/${owner}/${name}`), origin);
}

async function switchVersion(
  c: PageContext,
  from: PlaygroundInput,
  { number, wanted }: { number: string; wanted: RenderedState["wanted"] },
) {
  const { model, version } = await findVersion(
    c,
    playgroundQuery.parse({ version: number }).version,
  );
  if (!version) return renderNoVersion(c, model);
  const form = convertInput(from, inputFields(version));
  return renderPlayground(c, {
    model,
    version,
    form,
    input: readForm(form.fields).input,
    tab: "output",
    wanted,
  });
}

function asMalformed(error: unknown): never {
  throw error instanceof SyntaxError ? malformedJson(error) : error;
}

/** Rate-limited like the API. @param input of parseExact @returns the prediction's id */
async function startPrediction(
  c: PageContext,
  version: number | undefined,
  input: Input,
): Promise<string> {
  const { services, origin } = c.var;
  const { caller } = viewerOf(c);
  await limitRate(c, "predictions", caller.user_id);
  const model = `${c.req.param("owner")}/${c.req.param("name")}`;
  const reference = version === undefined ? model : `${model}:${version}`;
  const text = exactText(input);
  const value = runRequest.shape.input.parse(JSON.parse(text));
  checkFinite(value, ["body", "input"]);
  const { id } = await createPrediction(
    services,
    caller,
    reference,
    { input: value, stream: true },
    {
      ...{ origin, validateInput: true, waitSeconds: 0, cancelAfterSeconds: null },
      source: { value, text },
    },
  );
  return id;
}

/** undefined when the input was removed or is too large for a page. */
const inputOfView = (view: PredictionView | undefined): Input | undefined =>
  typeof view?.input === "object" && view.input !== null && !Array.isArray(view.input)
    ? view.input
    : undefined;

interface Left {
  /** Whether the run had secrets, which are not filled in. */
  secretsLeft: boolean;
  /** Whether its input has more than the chat, which the version has, can hold. */
  isTooMuch: boolean;
}

function predictionNote(
  view: PredictionView | undefined,
  version: VersionRow,
  { secretsLeft, isTooMuch }: Left,
): string | undefined {
  if (!view) return undefined;
  if (view.dataRemoved)
    return "The input of this prediction was deleted. The form shows the defaults.";
  if (view.input === undefined) return "The input of this prediction is too large to show here.";
  const { version_number: number } = view.prediction.model;
  const notes = [
    number !== version.number &&
      `This prediction ran on version ${number}. You are viewing version ${version.number}.`,
    isTooMuch && "The chat cannot show this input, so it is shown as a form.",
    secretsLeft && "Secrets are not filled in. Enter them again.",
  ].filter((note) => note !== false);
  return notes.length > 0 ? notes.join(" ") : undefined;
}

const showUpload = async (c: PageContext, row: UploadRow) =>
  c.json(await presentUpload(c.var.services, viewerOf(c).caller, row, c.var.origin));
