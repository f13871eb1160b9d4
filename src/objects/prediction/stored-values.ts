/** Values of a prediction that are stored in R2. */
import { getFile, listValues, putValue, valueKey } from "../../storage/files/files.ts";
import type { PredictionRecord } from "./record.ts";

const encoder = new TextEncoder();

/** The values that are written to R2 at a time. */
const AT_ONCE = 50;

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
  for await (const page of listValues(files, predictionId))
    for (const key of page) missing.delete(key);
  const keys = [...missing];
  for (let at = 0; at < keys.length; at += AT_ONCE)
    await Promise.all(
      keys.slice(at, at + AT_ONCE).map((key) => putValue(files, key, encoder.encode("null"))),
    );
  return keys.length === 0;
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
