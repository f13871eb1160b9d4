/** What pages show of predictions, and running one once more. */

import { accessToModel } from "../../domain/accounts/access.ts";
import { BEGINNING } from "../../domain/predictions/display-limits.ts";
import { isTerminal } from "../../domain/predictions/state.ts";
import { NO_MOMENTS, type Step, timeline } from "../../domain/predictions/timeline.ts";
import type { Keywords } from "../../domain/schemas/input-form-schema.ts";
import { rootKeywords } from "../../domain/schemas/version-schemas.ts";
import { conflict, notVisible } from "../../errors.ts";
import { readTruncatedJson } from "../../lib/truncated-json.ts";
import type { History } from "../../objects/prediction/rpc-types.ts";
import type { Json } from "../../protocol/common.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { Prediction, PredictionQuery } from "../../protocol/prediction.ts";
import { getFile, valueKey } from "../../storage/files/files.ts";
import { findModel, findModelPlaces } from "../../storage/models/models.ts";
import { findVersion } from "../../storage/models/versions.ts";
import type { PredictionRow } from "../../storage/predictions/predictions.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Page, PageRequest } from "../pagination.ts";
import type { Services } from "../services.ts";
import { createOrdered } from "./create-prediction.ts";
import { textOf } from "./prediction-text.ts";
import { findRun, ownPredictions, predictionStub } from "./predictions.ts";
import { refreshInputUrls, withUploads } from "./refresh-input-urls.ts";
import { findTarget } from "./version-resolution.ts";

export interface PredictionView
  extends Pick<History, "canceling" | "last" | "setup" | "logs">,
    Pick<History["output"], "omitted"> {
  prediction: Prediction;
  /** Where its model is now, `owner/name`; undefined when it is gone, or not for them to see. */
  model: string | undefined;
  /** Input, output and log are gone. */
  dataRemoved: boolean;
  /** Whether there is more to come. */
  live: boolean;
  steps: Step[];
  /** The first 256 KB of what it has put out. */
  output: Json[];
  /** Of an output whose first value alone is more than that. */
  beginning: string | undefined;
  /** How long the output is as JSON text. */
  chars: number;
  /** Whether texts in it are pieces of one, or items of a list. */
  display: "text" | "list";
  /** undefined when it is too large or too deep for a page, or gone. */
  input: Json | undefined;
  /** The same to look at: uploads by addresses that a browser can open. */
  shownInput: Json | undefined;
}

/** As it is at this moment. @throws ProblemError not_found */
export async function viewPrediction(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<PredictionView> {
  const row = await findRun(services, caller, id);
  const [history, version, places] = await Promise.all([
    predictionStub(services, caller, id).then((stub) => stub.history()),
    findVersion(services.db, row.model_id, row.version_number),
    placesOf(services, caller, [row.model_id]),
  ]);
  const model = places.get(row.model_id);
  const display = version ? displayOf(rootKeywords(version.schemas, "output")) : "text";
  if (!history) {
    const prediction = services.present.prediction(row, origin);
    return { ...NOTHING_KEPT, model, display, prediction, steps: timeline(NO_MOMENTS, prediction) };
  }
  const { data_removed, ...prediction }: Prediction & { data_removed: boolean } = JSON.parse(
    history.head,
  );
  const { canceling, last, moments, setup, logs, output } = history;
  const live = !isTerminal(prediction.status);
  const input = history.input && (await refreshInputUrls(services, caller, origin, history.input));
  return {
    prediction,
    model,
    dataRemoved: data_removed,
    live,
    canceling,
    last,
    setup,
    logs,
    steps: timeline(moments, prediction),
    output: output.values.map((text): Json => JSON.parse(text)),
    chars: output.values.reduce((sum, { length }) => sum + length, 0),
    omitted: output.omitted,
    beginning: output.first ? await beginningOf(services, id, output.first) : undefined,
    display,
    input: parsed(input),
    shownInput: parsed(input && (await withUploads(services, caller, origin, input))),
  };
}

/** undefined when it was removed meanwhile. */
async function beginningOf({ env }: Services, id: string, { name }: StoredValue) {
  // A text begins behind its quotation mark.
  const range = { offset: 0, length: BEGINNING + 1 };
  const file = await getFile(env.FILES, valueKey(id, name), { range });
  if (!file) return undefined;
  return readTruncatedJson(cleanEnd(await file.text())).slice(0, BEGINNING);
}

/** Of a character that lies on the edge, not all bytes were read. */
const cleanEnd = (text: string) => text.replace(/\uFFFD$/, "");

const parsed = (text: string | null): Json | undefined =>
  text === null ? undefined : JSON.parse(text);

const NOTHING_KEPT = {
  dataRemoved: true,
  live: false,
  canceling: false,
  last: 0,
  setup: null,
  logs: { text: "", hidden: 0, torn: false },
  output: [],
  beginning: undefined,
  chars: 0,
  omitted: 0,
  input: undefined,
  shownInput: undefined,
} satisfies Partial<PredictionView>;

/** One in a list, and where its model is now: as of a Run. */
export interface ListedPrediction {
  prediction: Prediction;
  model: string | undefined;
}

/** As listOwnPredictions has them. @throws ValidationFailure for a cursor that is not one of this list */
export async function viewPredictions(
  services: Services,
  caller: Caller,
  query: PredictionQuery,
  request: PageRequest,
): Promise<Page<ListedPrediction>> {
  const rows = await ownPredictions(services, caller, query, request, (row) => row);
  const ids = rows.items.map(({ model_id }) => model_id);
  const places = await placesOf(services, caller, [...new Set(ids)]);
  const { origin } = new URL(request.url);
  const listed = (row: PredictionRow): ListedPrediction => ({
    prediction: services.present.prediction(row, origin),
    model: places.get(row.model_id),
  });
  return { ...rows, items: rows.items.map(listed) };
}

/** Of the models that somebody may see: `owner/name`, by id. */
async function placesOf({ db }: Services, caller: Caller, ids: string[]) {
  const models = ids.length === 0 ? [] : await findModelPlaces(db, ids);
  return new Map(
    models
      .filter((model) => accessToModel(caller, model, "read") === "granted")
      .map(({ id, owner, name }) => [id, `${owner}/${name}`]),
  );
}

/** Cog says of an iterator of texts whether they are to be read as one. */
function displayOf(output: Keywords): PredictionView["display"] {
  return "x-cog-array-type" in output && !("x-cog-array-display" in output) ? "list" : "text";
}

/**
 * The same version with the same input once more, as a prediction of its own. It has no webhook:
 * whoever receives those knows nothing of this one.
 * @returns its id
 * @throws ProblemError not_found, conflict when its input is gone; as createPrediction
 */
export async function retryPrediction(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<string> {
  const row = await findRun(services, caller, id);
  const asked = await (await predictionStub(services, caller, id)).originalRequest();
  if (!asked) throw conflict("Its input is removed: it cannot be run again.");
  const model = await findModel(services.db, row.model_id);
  if (!model) throw notVisible(`The model '${row.model_owner}/${row.model_name}'`);
  const reference = `${model.owner.username}/${model.name}:${row.version_number}`;
  const target = await findTarget(services, caller, reference);
  const { call, stream, retention_seconds } = asked;
  const input = await new Response(textOf(services, id, [asked.input])).json<
    Record<string, Json>
  >();
  const { snapshot } = await createOrdered(
    services,
    caller,
    {
      reference,
      target,
      call,
      request: {
        input,
        stream,
        // What the deployment keeps now may be less than what it kept then.
        retention_seconds: Math.min(retention_seconds, services.settings.retentionSeconds),
      },
    },
    { origin, validateInput: false, waitSeconds: 0, cancelAfterSeconds: null },
  );
  return snapshot.id;
}
