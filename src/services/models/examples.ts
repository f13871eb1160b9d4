/** Examples: runs that a model's owner or a collaborator shows on its page, as copies that outlive them. */
import { v7 as uuid } from "uuid";
import { mapStrings, ownFileName } from "../../domain/models/example-content.ts";
import { secondsText } from "../../domain/predictions/state.ts";
import { exampleInput } from "../../domain/schemas/example-input.ts";
import type { Input } from "../../domain/schemas/input-form-values.ts";
import { isValidInput } from "../../domain/schemas/json-schema.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { logger } from "../../log.ts";
import type { AuditAction } from "../../protocol/audit.ts";
import { type Example, MAX_EXAMPLES, type UpdateExample } from "../../protocol/example.ts";
import { isDuplicate } from "../../storage/database.ts";
import { deleteAll, fileKey } from "../../storage/files/files.ts";
import {
  deleteExample,
  dropCover,
  type ExampleRow,
  findExample,
  findFirstExample,
  hideExample,
  insertExample,
  listExampleChoices,
  listRemoved,
  orderExamples,
  listExamples as rowsOf,
  setCover,
  showExample,
} from "../../storage/models/examples.ts";
import type { DetailedModelRow } from "../../storage/models/models.ts";
import { type VersionRow, versionsAmong } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import { quotaOf, withinQuota } from "../access/storage-quota.ts";
import { auditEntry, type Recorded } from "../audit/record.ts";
import { orConflict } from "../conflicts.ts";
import { signedFileUrl, stableExpiry } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";
import { copyFiles, readRun } from "./example-copy.ts";
import { firstPicture, isCoverOf, ownFilesIn, pictureIn } from "./example-pictures.ts";
import { ofModel, readModel, readModelTo } from "./models.ts";

type Place = [owner: string, name: string];

/** How long the URLs of examples are valid: a reader of the page may take a while. */
const URL_MS = 3_600_000;
/** How long a copy may take before it is given up. */
const COPYING_MS = 10 * 60_000;

/** Lists the examples of a model in their order. @throws ProblemError not_found */
export async function listExamples(
  services: Services,
  caller: Caller | undefined,
  [owner, name]: Place,
  origin: string,
): Promise<Example[]> {
  const { id } = await readModel(services, caller, owner, name);
  return examplesOf(services, id, origin);
}

/** Lists the examples of a model that the caller sees. */
export const examplesOf = async (
  services: Services,
  modelId: string,
  origin: string,
): Promise<Example[]> =>
  Promise.all((await rowsOf(services.db, modelId)).map((row) => presented(services, row, origin)));

export type ExampleChoice = Pick<Example, "id" | "input" | "output">;

/** Lists the examples of a model that the caller sees. An output that is too long for a glance is null. */
export async function exampleChoices(
  services: Services,
  modelId: string,
  origin: string,
): Promise<ExampleChoice[]> {
  const rows = await listExampleChoices(services.db, modelId, MAX_CHOICE_CHARS);
  return Promise.all(rows.map((row) => withUrls(services, row, origin)));
}

/**
 * Returns an input for code samples: that of the model's first example, or else one made from the schema. An
 * example with files is not used, because the addresses of its files expire.
 */
export async function sampleInput(
  services: Services,
  version: Pick<VersionRow, "model_id" | "schemas">,
  origin: string,
): Promise<Input> {
  const schema = versionSchema(version.schemas, "input");
  const [example] = await exampleChoices(services, version.model_id, origin);
  const hasFiles = JSON.stringify(example?.input ?? {}).includes(`"${origin}/`);
  return example && !hasFiles && isValidInput(schema, example.input)
    ? example.input
    : exampleInput(schema);
}

const MAX_CHOICE_CHARS = 16 * 1024;

/** Returns the numbers of the deleted versions that some of these examples were made by. */
export async function goneVersions(
  { db }: Services,
  modelId: string,
  examples: Pick<Example, "version_number">[],
): Promise<Set<number>> {
  const gone = new Set(examples.map(({ version_number }) => version_number));
  for (const number of await versionsAmong(db, modelId, [...gone])) gone.delete(number);
  return gone;
}

/**
 * Returns an example of a model that the caller sees, or undefined.
 * @param id undefined: the first example
 */
export async function readExample(
  services: Services,
  modelId: string,
  id: string | undefined,
  origin: string,
): Promise<Example | undefined> {
  const { db } = services;
  const row = await (id === undefined
    ? findFirstExample(db, modelId)
    : findExample(db, modelId, id));
  return row && presented(services, row, origin);
}

/**
 * Copies a run. The example's row is written before its files, so that the sweep finds incomplete copies.
 * @throws ProblemError not_found, forbidden; conflict for a run that cannot be shown, or one too many
 */
export async function pinExample(
  services: Services,
  caller: Caller,
  [owner, name]: Place,
  predictionId: string,
  origin: string,
): Promise<Example> {
  const model = await readModelTo(services, caller, [owner, name], "write");
  const { db } = services;
  const shown = await rowsOf(db, model.id);
  if (shown.some(({ prediction_id }) => prediction_id === predictionId)) throw isThere();
  if (shown.length >= MAX_EXAMPLES) throw full();
  const run = await readRun(services, caller, model.id, predictionId, origin);
  const id = uuid();
  const now = Date.now();
  const row: ExampleRow = {
    id,
    model_id: model.id,
    position: 0,
    prediction_id: predictionId,
    version_number: run.version_number,
    input: run.inputFor(id),
    output: run.outputFor(id),
    execution_seconds: run.execution_seconds,
    created_at: now,
    removes_at: now + COPYING_MS,
  };
  await insertExample(db, row);
  try {
    await copyFiles(services, id, run.files);
    const key = model.cover_key === null ? await pictureIn(services, row) : undefined;
    const quota = quotaOf(services, model.owner.id);
    const entry = entryOf("example.created", model, row, {
      after: { prediction_id: predictionId },
    });
    const showing = showExample(db, row, { max: MAX_EXAMPLES, key }, quota, entry);
    const isShown = await orConflict(withinQuota(services, showing), isDuplicate, IS_THERE);
    if (!isShown) throw full();
  } catch (error) {
    await removeFiles(services, id);
    throw error;
  }
  return presented(services, row, origin);
}

const IS_THERE = "This prediction is already an example.";
const isThere = () => conflict(IS_THERE);

/** @throws ProblemError not_found, forbidden */
export async function unpinExample(
  services: Services,
  caller: Caller,
  place: Place,
  id: string,
): Promise<void> {
  const { model, row } = await ownExample(services, caller, place, id);
  const next = isCoverOf(model, id) ? await firstPicture(services, model.id, id) : undefined;
  await hideExample(services.db, row, Date.now(), next, entryOf("example.deleted", model, row));
  await removeFiles(services, id);
}

/** Moves an example before the one that precedes it. @throws ProblemError not_found, forbidden */
export async function moveExampleUp(
  services: Services,
  caller: Caller,
  place: Place,
  id: string,
): Promise<void> {
  const { model, row } = await ownExample(services, caller, place, id);
  await placeAt(services, model, row, (ids) => Math.max(ids.indexOf(id), 1));
}

/**
 * Changes the fields that are given.
 * @throws ProblemError not_found, forbidden; conflict for one without a picture, and then nothing is changed
 */
export async function updateExample(
  services: Services,
  caller: Caller,
  at: { place: Place; id: string; origin: string },
  changes: UpdateExample,
): Promise<Example> {
  return presented(services, await changeExample(services, caller, at, changes), at.origin);
}

/** @throws as updateExample */
export async function changeExample(
  services: Services,
  caller: Caller,
  { place, id }: { place: Place; id: string },
  { position, is_cover }: UpdateExample,
): Promise<ExampleRow> {
  const { db } = services;
  const { model, row } = await ownExample(services, caller, place, id);
  const cover = is_cover ? await pictureIn(services, row) : undefined;
  if (is_cover && cover === undefined) throw conflict("The output of this example has no image.");
  if (position !== undefined) await placeAt(services, model, row, () => position);
  const entry = entryOf("example.updated", model, row, {
    before: { is_cover: isCoverOf(model, id) },
    after: { is_cover },
  });
  if (cover !== undefined) await setCover(db, row, cover, entry);
  if (is_cover === false) await dropCover(db, row, entry);
  return row;
}

/** @param positionIn returns the position, from 1, by the IDs of all examples in their order */
async function placeAt(
  { db }: Services,
  model: DetailedModelRow,
  row: ExampleRow,
  positionIn: (ids: string[]) => number,
) {
  const ids = (await rowsOf(db, model.id)).map(({ id }) => id);
  const ordered = ids.filter((id) => id !== row.id).toSpliced(positionIn(ids) - 1, 0, row.id);
  const entry = entryOf("example.updated", model, row, {
    before: { position: ids.indexOf(row.id) + 1 },
    after: { position: ordered.indexOf(row.id) + 1 },
  });
  if (ordered.join() !== ids.join()) await orderExamples(db, ordered, row, entry);
}

function entryOf(
  action: AuditAction,
  model: DetailedModelRow,
  { id }: ExampleRow,
  changes: Pick<Recorded, "before" | "after"> = {},
) {
  const { account_id, targets } = ofModel(model);
  return auditEntry({
    action,
    account_id,
    targets: [{ type: "example", id, name: id }, ...targets],
    ...changes,
  });
}

/** Removes the files of removed examples that are due, as far as R2 answers. */
export async function sweepExamples(services: Services, now: number): Promise<void> {
  for (const { id } of await listRemoved(services.db, now, SWEPT)) await removeFiles(services, id);
}

const SWEPT = 50;

/** Removes an example's files. If this fails, the sweep does it. */
async function removeFiles({ env, db }: Services, id: string): Promise<void> {
  try {
    await deleteAll(env.FILES, id);
    await deleteExample(db, id);
  } catch (error) {
    logger.warn("Example not removed", { example_id: id, error });
  }
}

async function ownExample(services: Services, caller: Caller, [owner, name]: Place, id: string) {
  const model = await readModelTo(services, caller, [owner, name], "write");
  const row = await findExample(services.db, model.id, id);
  if (!row) throw notFound(`The example '${id}'`);
  return { model, row };
}

const full = () =>
  conflict(`A model can have at most ${MAX_EXAMPLES} examples. Remove one, then pin this one.`);

async function presented(services: Services, row: ExampleRow, origin: string): Promise<Example> {
  return {
    ...(await withUrls(services, row, origin)),
    version_number: row.version_number,
    execution_time: secondsText(row.execution_seconds),
    created_at: new Date(row.created_at).toISOString(),
  };
}

async function withUrls(
  services: Services,
  row: Pick<ExampleRow, "id" | "input" | "output">,
  origin: string,
): Promise<ExampleChoice> {
  const expires = stableExpiry(Date.now(), URL_MS);
  const urls = new Map<string, string>();
  for (const value of [row.input, row.output])
    for (const text of ownFilesIn(row.id, value))
      urls.set(
        text,
        await signedFileUrl(
          services,
          origin,
          fileKey(row.id, ownFileName(row.id, text) ?? ""),
          expires,
        ),
      );
  const shown = (text: string) => urls.get(text) ?? text;
  return {
    id: row.id,
    input: Object.fromEntries(
      Object.entries(row.input).map(([name, value]) => [name, mapStrings(value, shown)]),
    ),
    output: mapStrings(row.output, shown),
  };
}
