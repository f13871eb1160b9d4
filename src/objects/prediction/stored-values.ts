/** Values of a prediction that are stored in R2. */
import { getFile, valueKey } from "../../storage/files/files.ts";
import type { PredictionRecord } from "./record.ts";

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
