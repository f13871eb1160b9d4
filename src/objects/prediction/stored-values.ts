/** Values of a prediction that are stored in R2. */
import { getFile, listValues, putValue, valueKey } from "../../storage/files/files.ts";
import type { PredictionRecord } from "./record.ts";

const encoder = new TextEncoder();

/**
 * Whether R2 has all of these. In the place of those that it has not, null is stored: readers of the others would
 * break off there.
 */
export async function areStored(
  files: R2Bucket,
  predictionId: string,
  names: Set<string>,
): Promise<boolean> {
  const missing = new Set([...names].map((name) => valueKey(predictionId, name)));
  for await (const keys of listValues(files, predictionId))
    for (const key of keys) missing.delete(key);
  for (const key of missing) await putValue(files, key, encoder.encode("null"));
  return missing.size === 0;
}

/** @returns undefined when it does not exist */
export async function findValue(
  files: R2Bucket,
  record: PredictionRecord | undefined,
  name: string,
): Promise<ReadableStream<Uint8Array> | undefined> {
  return record && (await getFile(files, valueKey(record.life.spec.id, name)))?.body;
}

/** @throws Error when it does not exist, although the log names it */
export async function openValue(
  files: R2Bucket,
  record: PredictionRecord | undefined,
  name: string,
): Promise<ReadableStream<Uint8Array>> {
  const found = await findValue(files, record, name);
  if (!found) throw new Error(`the value ${name} is missing`);
  return found;
}
