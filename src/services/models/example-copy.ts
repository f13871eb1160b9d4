/** Copies a run of a model's owner, with its files, for an example. */

import {
  fileNamed,
  MAX_FILE_BYTES,
  MAX_FILES,
  MAX_INPUT_CHARS,
  MAX_OUTPUT_CHARS,
  mapStrings,
  ownFile,
  stringsOf,
} from "../../domain/models/example-content.ts";
import { hiddenFieldsOf, withoutHidden } from "../../domain/schemas/secret-fields.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { conflict, notFound } from "../../errors/errors.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { predictionWithIO } from "../../protocol/prediction.ts";
import { fileKey, getFile, headFile, putFile } from "../../storage/files/files.ts";
import { findOwnUploads } from "../../storage/files/uploads.ts";
import { findVersion } from "../../storage/models/versions.ts";
import type { Caller } from "../access/access.ts";
import { checkedFacts } from "../files/file-response.ts";
import { accessToSource } from "../files/files.ts";
import { findOwnPrediction, getPrediction } from "../predictions/predictions.ts";
import type { Services } from "../services.ts";

/** The key of a file of the run, and its name among the example's files. */
export interface CopiedFile {
  from: string;
  name: string;
}

interface Run {
  version_number: number;
  execution_seconds: number | null;
  files: CopiedFile[];
  /** Returns the input, in which the example's own files replace those of the run. */
  inputFor: (exampleId: string) => Record<string, Json>;
  outputFor: (exampleId: string) => Json;
}

/** The characters that an example may have besides input and output: the error and metrics. */
const MAX_REST_CHARS = 100_000;

/** @throws ProblemError not_found; conflict for what cannot be an example */
export async function readRun(
  services: Services,
  caller: Caller,
  modelId: string,
  predictionId: string,
  origin: string,
): Promise<Run> {
  const row = await findOwnPrediction(services, caller, predictionId);
  if (row.model_id !== modelId) throw notFound(`The prediction '${predictionId}' of this model`);
  const { text } = await getPrediction(services, caller, predictionId, origin);
  const whole = await textUpTo(text, MAX_INPUT_CHARS + MAX_OUTPUT_CHARS + MAX_REST_CHARS);
  if (whole === undefined) throw tooLarge("It");
  const run = predictionWithIO.parse(parseExact(whole));
  // The status comes from the prediction: its row may lag behind.
  if (run.status !== "succeeded") throw conflict("Only succeeded predictions can be examples.");
  if (run.data_removed || !isObject(run.input))
    throw conflict("The data of this prediction has been removed.");
  const version = await findVersion(services.db, modelId, row.version_number);
  // The schema of the version says which inputs are secret.
  if (!version) throw conflict("The version of this prediction has been deleted.");
  const input = withoutHidden(run.input, hiddenFieldsOf(versionSchema(version.schemas, "input")));
  const { output } = run;
  if (exactText(input).length > MAX_INPUT_CHARS) throw tooLarge("Its input");
  if (exactText(output).length > MAX_OUTPUT_CHARS) throw tooLarge("Its output");
  const named = await filesIn(services, caller, origin, [input, output]);
  const renamed = (exampleId: string) => (one: string) => {
    const file = named.get(one);
    return file ? ownFile(exampleId, file.name) : one;
  };
  return {
    version_number: row.version_number,
    execution_seconds: run.execution_time === null ? null : Number(run.execution_time),
    files: [...new Map([...named.values()].map((file) => [file.name, file])).values()],
    inputFor: (id) =>
      Object.fromEntries(
        Object.entries(input).map(([name, value]) => [name, mapStrings(value, renamed(id))]),
      ),
    outputFor: (id) => mapStrings(output, renamed(id)),
  };
}

/** Finds the files by the strings that name them. The address of a file of somebody else stays as it is. */
async function filesIn(
  services: Services,
  caller: Caller,
  origin: string,
  values: Json[],
): Promise<Map<string, CopiedFile>> {
  const { filesOrigin } = services.settings;
  const origins = [origin, ...(filesOrigin === undefined ? [] : [filesOrigin])];
  const named = new Map<string, CopiedFile>();
  const byKey = new Map<string, CopiedFile>();
  let bytes = 0;
  for (const text of new Set(values.flatMap((value) => [...stringsOf(value)]))) {
    const file = fileNamed(text, origins);
    const key = file && (await keyOf(services, caller, file));
    if (key === undefined) continue;
    const known = byKey.get(key);
    if (known) {
      named.set(text, known);
      continue;
    }
    const found = await headFile(services.env.FILES, key);
    if (!found) throw conflict("A file of this prediction has been deleted.");
    bytes += found.size;
    const copied = { from: key, name: `${byKey.size}-${key.slice(key.lastIndexOf("/") + 1)}` };
    byKey.set(key, copied);
    named.set(text, copied);
    if (byKey.size > MAX_FILES || bytes > MAX_FILE_BYTES)
      throw conflict(
        `An example can have at most ${MAX_FILES} files of ${MAX_FILE_BYTES / 1024 ** 2} MB in all.`,
      );
  }
  return named;
}

/** Returns undefined for a file of somebody else. */
async function keyOf(
  services: Services,
  caller: Caller,
  { source, name }: { source: string; name: string | undefined },
): Promise<string | undefined> {
  if ((await accessToSource(services, caller, source)) !== "granted") return undefined;
  if (name === undefined) {
    const [upload] = await findOwnUploads(services.db, caller.user_id, [source]);
    return upload && upload.completed_at !== null ? upload.key : undefined;
  }
  return fileKey(source, name);
}

export async function copyFiles(
  services: Services,
  exampleId: string,
  files: CopiedFile[],
): Promise<void> {
  const { env } = services;
  for (const { from, name } of files) {
    const file = await getFile(env.FILES, from);
    if (!file) throw conflict("A file of this prediction has been deleted.");
    await putFile(
      env.FILES,
      fileKey(exampleId, name),
      file.body,
      await checkedFacts(services, file),
    );
  }
}

/** Returns undefined for a longer text, and reads no more of it. */
async function textUpTo(text: string | ReadableStream, max: number): Promise<string | undefined> {
  if (typeof text === "string") return text.length > max ? undefined : text;
  const parts: string[] = [];
  let length = 0;
  const decoder = new TextDecoder();
  for await (const chunk of text) {
    const part = decoder.decode(chunk, { stream: true });
    length += part.length;
    if (length > max) return undefined;
    parts.push(part);
  }
  return parts.join("") + decoder.decode();
}

const tooLarge = (what: string) =>
  conflict(
    `${what} is too large for an example. Inputs can have ${MAX_INPUT_CHARS.toLocaleString("en")} characters as JSON, outputs ${MAX_OUTPUT_CHARS.toLocaleString("en")}.`,
  );
