/** Predictions as the dashboard shows them, and running one again. */

import { accessToModel } from "../../domain/accounts/access.ts";
import { BEGINNING } from "../../domain/predictions/display-limits.ts";
import { isWaiting, type Viewer } from "../../domain/predictions/explanation.ts";
import { NEW_TAIL } from "../../domain/predictions/log-tail.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { isTerminal } from "../../domain/predictions/status.ts";
import {
  NO_MOMENTS,
  type SetupFacts,
  type Step,
  timeline,
} from "../../domain/predictions/timeline.ts";
import type { Keywords } from "../../domain/schemas/input-form-schema.ts";
import { secretFieldsOf, withMasks } from "../../domain/schemas/secret-fields.ts";
import { rootKeywords, versionSchema } from "../../domain/schemas/version-schemas.ts";
import { conflict, notVisible } from "../../errors/errors.ts";
import { parseExact } from "../../lib/exact-json.ts";
import type { History } from "../../objects/stubs/prediction.ts";
import type { Json } from "../../protocol/common.ts";
import type { StoredValue } from "../../protocol/event.ts";
import type { Explanation } from "../../protocol/explanation.ts";
import type { Prediction, PredictionQuery } from "../../protocol/prediction.ts";
import { getFile, valueKey } from "../../storage/files/files.ts";
import { findModelPlaces } from "../../storage/models/models.ts";
import { findVersion } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import type { Page, PageRequest } from "../pagination.ts";
import type { Services } from "../services.ts";
import { createResolved } from "./create-prediction.ts";
import { asCaller, explainFacts } from "./explain.ts";
import { refreshInputUrls, withUploadUrls } from "./input-files.ts";
import { jsonBodyOf } from "./prediction-text.ts";
import { findOwnPrediction, ownPredictions, predictionStub } from "./predictions.ts";
import { promptsOf } from "./recent-runs.ts";
import { resolveVersion } from "./version-resolution.ts";

export interface PredictionView
  extends Pick<History, "canceling" | "last" | "logs">,
    Pick<History["output"], "omitted"> {
  prediction: Prediction;
  /** The name of the token, as in `ListedPrediction`. */
  token: string | null;
  /** The model's current `owner/name`; undefined when it was deleted or the caller may not see it. */
  model: string | undefined;
  /** Whether the caller may make the run an example of the model. */
  mayPin: boolean;
  /** Progress of the container's setup; null once it is ready. */
  setup: SetupFacts["progress"] | null;
  /** Whether input, output and log are deleted. */
  dataRemoved: boolean;
  /** Whether more events will come. */
  live: boolean;
  steps: Step[];
  /** Why the model does not run yet; undefined once it does. */
  explanation: Explanation | undefined;
  /** The first 256 KB of the output. */
  output: Json[];
  /** The beginning of an output whose first value alone is larger than that. */
  beginning: Beginning | undefined;
  /** The length of the output as JSON text. */
  chars: number;
  /** Whether the output's strings are pieces of one text, or items of a list. */
  display: "text" | "list";
  /** Whether every input is masked: the version is deleted, whose schema says which are secret. */
  isMasked: boolean;
  /** undefined when it is too large or too deeply nested for a page, or deleted. */
  input: Json | undefined;
  /** The input for display: uploads are replaced by URLs that a browser can open, secrets by a mask. */
  displayInput: Json | undefined;
}

interface ViewOptions {
  /** The viewer for whom the explanation is written; the caller by default. */
  viewer?: Viewer;
  /** Whether the lines of the log are shown, which take longest to read. */
  hasLogs?: boolean;
}

/** @throws ProblemError not_found */
export async function viewPrediction(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
  { viewer = asCaller(caller), hasLogs = true }: ViewOptions = {},
): Promise<PredictionView> {
  const row = await findOwnPrediction(services, caller, id);
  const stub = await predictionStub(services, caller, id);
  const [history, version, places] = await Promise.all([
    stub.history(hasLogs),
    findVersion(services.db, row.model_id, row.version_number),
    modelPathsOf(services, caller, [row.model_id]),
  ]);
  const { path: model, mayPin } = places.get(row.model_id) ?? { path: undefined, mayPin: false };
  const display = version ? outputDisplay(rootKeywords(version.schemas, "output")) : "text";
  if (!history) {
    const prediction = services.present.prediction(row, origin);
    const token = row.token_name;
    return {
      ...DATA_REMOVED,
      token,
      model,
      mayPin,
      display,
      isMasked: !version,
      prediction,
      steps: timeline(NO_MOMENTS, prediction),
    };
  }
  const { data_removed, ...prediction }: Prediction & { data_removed: boolean } = JSON.parse(
    history.head,
  );
  const { canceling, last, facts, logs, output } = history;
  const live = !isTerminal(prediction.status);
  const explanation = isWaiting(facts)
    ? await explainFacts(services, stub, facts, viewer)
    : undefined;
  const first = output.first ? await beginningOf(services, id, output.first) : undefined;
  const input = history.input && (await refreshInputUrls(services, caller, origin, history.input));
  return {
    prediction,
    token: row.token_name,
    model,
    mayPin,
    dataRemoved: data_removed,
    live,
    canceling,
    last,
    setup: facts.setup?.progress ?? null,
    logs,
    explanation,
    steps: timeline(facts.moments, prediction),
    output: output.values.map(parseExact),
    chars: output.values.reduce((sum, { length }) => sum + length, 0),
    omitted: output.omitted,
    beginning: first,
    display,
    isMasked: !version,
    input: parseJson(input),
    displayInput: withMasks(
      parseJson(input && (await withUploadUrls(services, caller, origin, input))),
      // Only the schema says which fields are secret.
      version ? secretFieldsOf(versionSchema(version.schemas, "input")) : () => true,
    ),
  };
}

interface Beginning {
  text: string;
  /** Whether `text` is JSON text; otherwise it is the content of a string. */
  isJson: boolean;
}

/** Returns undefined when the output was deleted meanwhile. */
async function beginningOf(
  { env }: Services,
  id: string,
  { name }: StoredValue,
): Promise<Beginning | undefined> {
  const range = { offset: 0, length: BEGINNING + 1 };
  const file = await getFile(env.FILES, valueKey(id, name), { range });
  if (!file) return undefined;
  // The last character may have been read only in part.
  const json = (await file.text()).replace(/\uFFFD$/, "");
  if (!json.startsWith('"')) return { text: json.slice(0, BEGINNING), isJson: true };
  return { text: cutString(json), isJson: false };
}

/** The longest escape of a character in JSON: a pair such as `\ud83d\ude00`. */
const MAX_ESCAPE = 12;

/** Returns the content of a JSON string whose end is cut off, perhaps in the middle of an escape. */
function cutString(json: string): string {
  for (let cut = 0; cut < MAX_ESCAPE; cut++) {
    try {
      const text: string = JSON.parse(`${json.slice(0, json.length - cut)}"`);
      return text.replace(/[\uD800-\uDBFF]$/, "");
    } catch {}
  }
  throw new Error("a stored value is no JSON");
}

const parseJson = (text: string | null): Json | undefined =>
  text === null ? undefined : parseExact(text);

const DATA_REMOVED = {
  dataRemoved: true,
  live: false,
  canceling: false,
  last: 0,
  setup: null,
  explanation: undefined,
  logs: { lines: [], state: NEW_TAIL },
  output: [],
  beginning: undefined,
  chars: 0,
  omitted: 0,
  input: undefined,
  displayInput: undefined,
} satisfies Partial<PredictionView>;

/** A prediction in a list. `model` is as of PredictionView. */
export interface ListedPrediction {
  prediction: Prediction;
  /** The name of the access token that created it; empty for the dashboard; null if it is not known. */
  token: string | null;
  model: string | undefined;
  /** An excerpt. Undefined where the input has none, was removed or cannot be read at once. */
  prompt: string | undefined;
  /** Whether the prediction had started, and waits for another runner. */
  waitsAgain: boolean;
}

/** @throws ValidationFailure for an invalid cursor */
export async function viewPredictions(
  services: Services,
  caller: Caller,
  query: PredictionQuery,
  request: PageRequest,
): Promise<Page<ListedPrediction>> {
  const rows = await ownPredictions(services, caller, query, request, (row) => row);
  const ids = rows.items.map(({ model_id }) => model_id);
  const [places, prompts] = await Promise.all([
    modelPathsOf(services, caller, [...new Set(ids)]),
    promptsOf(services, rows.items),
  ]);
  const { origin } = new URL(request.url);
  const listed = (row: PredictionRow): ListedPrediction => ({
    prediction: services.present.prediction(row, origin),
    token: row.token_name,
    model: places.get(row.model_id)?.path,
    prompt: prompts.get(row.id) || undefined,
    waitsAgain: row.waits_again,
  });
  return { ...rows, items: rows.items.map(listed) };
}

/** Returns the `owner/name` of models that the caller may see, and whether it may change their examples, by id. */
async function modelPathsOf({ db }: Services, caller: Caller, ids: string[]) {
  const models = ids.length === 0 ? [] : await findModelPlaces(db, ids, caller.user_id);
  return new Map(
    models
      .filter((model) => accessToModel(caller, model, "read") === "granted")
      .map((model) => [
        model.id,
        {
          path: `${model.owner}/${model.name}`,
          mayPin: accessToModel(caller, model, "write") === "granted",
        },
      ]),
  );
}

/** How an output is displayed: Cog's schema says whether an iterator's strings are concatenated. */
function outputDisplay(output: Keywords): PredictionView["display"] {
  return "x-cog-array-type" in output && !("x-cog-array-display" in output) ? "list" : "text";
}

/**
 * Runs the same version with the same input again, as a new prediction without a webhook: its
 * receiver does not expect it.
 * @returns its id
 * @throws ProblemError not_found, conflict when its input has been deleted; as createPrediction
 */
export async function retryPrediction(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<string> {
  const row = await findOwnPrediction(services, caller, id);
  const original = await (await predictionStub(services, caller, id)).originalRequest();
  if (!original) throw conflict("Its input was deleted, so it cannot run again.");
  const model = (await modelPathsOf(services, caller, [row.model_id])).get(row.model_id);
  if (!model) throw notVisible(`The model '${row.model_owner}/${row.model_name}'`);
  const reference = `${model.path}:${row.version_number}`;
  const target = await resolveVersion(services, caller, reference);
  const { call, stream, retention_seconds } = original;
  const text = await new Response(jsonBodyOf(services, id, [original.input])).text();
  const input: Record<string, Json> = JSON.parse(text);
  const retried = await createResolved(
    services,
    caller,
    {
      reference,
      target,
      call,
      request: {
        input,
        stream,
        // The deployment's maximum may be less than it was then.
        retention_seconds: Math.min(retention_seconds, services.settings.retentionSeconds),
      },
    },
    {
      ...{ origin, validateInput: true, waitSeconds: 0, cancelAfterSeconds: null },
      source: { value: input, text },
    },
  );
  return retried.id;
}
