/** The last runs of a model by one person, and excerpts of prompts, by which the person recognizes them. */
import { START_CHECK } from "../../domain/accounts/usage.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { promptExcerpt } from "../../domain/predictions/prompt.ts";
import { enumOptions, SchemaResolver } from "../../domain/schemas/input-form-schema.ts";
import {
  hiddenFieldsOf,
  type IsSecret,
  withoutSecrets,
} from "../../domain/schemas/secret-fields.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import { settlesWithin } from "../../lib/timeout.ts";
import { logger } from "../../log.ts";
import { predictionWithId } from "../../objects/stubs/prediction.ts";
import type { Json } from "../../protocol/common.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import { listInputSchemas, type VersionRow } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { ownPredictions } from "./predictions.ts";

const RUNS = 10;
/** How long a page waits for the content of runs: the list is useful without content that comes later. */
const PATIENCE_MS = 100;
/**
 * The characters of input and output that are read, for a few words and a picture; of a longer run, only the
 * input is read.
 */
const MAX_CHARS = 16 * 1024;
const MAX_INPUT_CHARS = 64 * 1024;

export interface RecentRun {
  prediction: Prediction;
  isStartCheck: boolean;
  /**
   * Input and output without secret fields. Undefined where they were deleted, the input is too large, or
   * they come too late; the output alone is null if it is too large.
   */
  content: { input: { [name: string]: Json }; output: Json } | undefined;
}

/**
 * Lists runs, newest first.
 * @param model `owner/name`
 * @param version the version of the page, whose schema says which fields are secret: a run may have had
 * another
 * @param url of the request
 */
export async function recentRuns(
  services: Services,
  caller: Caller,
  model: string,
  version: Pick<VersionRow, "schemas"> | undefined,
  url: string,
): Promise<RecentRun[]> {
  const query = { statuses: [], model, page_size: RUNS, cursor: undefined };
  const request = { cursor: undefined, size: RUNS, url };
  const { items } = await ownPredictions(services, caller, query, request, (row) => row);
  const { origin } = new URL(url);
  const isSecret = version ? hiddenFieldsOf(versionSchema(version.schemas, "input")) : () => true;
  return Promise.all(
    items.map(async (row) => ({
      prediction: services.present.prediction(row, origin),
      isStartCheck: row.token_name === START_CHECK.token_name,
      content: row.data_removed ? undefined : await inTime(contentOf(services, row, isSecret)),
    })),
  );
}

const inTime = async (content: Promise<RecentRun["content"]>) =>
  (await settlesWithin(content, PATIENCE_MS)) ? content : undefined;

/** Returns undefined for content that cannot be read now. */
async function contentOf(
  services: Services,
  row: PredictionRow,
  isSecret: IsSecret,
): Promise<RecentRun["content"]> {
  const content = await readContent(services, row, MAX_CHARS);
  if (!content) return undefined;
  const { input, output } = content;
  return { input: isObject(input) ? withoutSecrets(input, isSecret).input : {}, output };
}

/**
 * Reads the excerpts of the prompts of runs from their objects, which alone have the input: an excerpt is
 * gone with it, and is stored nowhere else. A page does not wait long for them.
 * @returns by the id of the run; without runs whose version's schema is not there to say what is secret
 */
export async function promptsOf(
  services: Services,
  rows: PredictionRow[],
): Promise<Map<string, string>> {
  const kept = rows.filter(({ data_removed }) => !data_removed);
  const schemas = kept.length === 0 ? Promise.resolve([]) : listInputSchemas(services.db, kept);
  const excerpts = new Map<string, string>();
  const reading = kept.map(async (row) => {
    const [versions, content] = await Promise.all([schemas, readContent(services, row, 0)]);
    const version = versions.find(
      ({ model_id, number }) => model_id === row.model_id && number === row.version_number,
    );
    if (!version?.schemas || !isObject(content?.input)) return;
    const schema = versionSchema(version.schemas, "input");
    const { input } = withoutSecrets(content.input, hiddenFieldsOf(schema));
    const resolver = SchemaResolver.of(schema);
    const fields = fieldsOf(resolver.resolve(schema).properties);
    const isChoice = (name: string) => enumOptions(resolver.resolve(fields[name])) !== undefined;
    excerpts.set(row.id, promptExcerpt(input, isChoice));
  });
  await settlesWithin(Promise.all(reading), PATIENCE_MS);
  return new Map(excerpts);
}

/** @param maxChars of input and output; of a longer run, only the input is read */
async function readContent(
  { env }: Services,
  row: PredictionRow,
  maxChars: number,
): Promise<{ input: Json; output: Json } | undefined> {
  try {
    const snapshot = await predictionWithId(env, row.object_id)?.get(maxChars, MAX_INPUT_CHARS);
    if (!snapshot?.body) return undefined;
    // Values that are stored in R2 are too large.
    const text = snapshot.body.map((one) => (typeof one === "string" ? one : "null")).join("");
    return JSON.parse(text);
  } catch (error) {
    logger.warn("A run cannot be read for a list", { prediction_id: row.id, error });
    return undefined;
  }
}
