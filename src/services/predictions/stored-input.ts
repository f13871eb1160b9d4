/** Large inputs, and files sent with them, are stored in R2 before their prediction is created. */
import { initialRow } from "../../domain/predictions/prediction-row.ts";
import { hasStoredInput, type PredictionSpec } from "../../domain/predictions/state.ts";
import { logger } from "../../log.ts";
import { accountAt } from "../../objects/account/stub.ts";
import type { StoredValue } from "../../protocol/event.ts";
import {
  completeMultipart,
  deleteAll,
  factsOf,
  getFile,
  putFile,
  putValue,
  valueKey,
} from "../../storage/files/files.ts";
import type { Services } from "../services.ts";
import { MAX_COPIED_BYTES, type OwnFile } from "./sent-files.ts";

/** The largest input, as JSON text, that its object stores itself. */
const MAX_INLINE_BYTES = 1024 * 1024;

const INPUT_NAME = "input";

/** What goes to R2 before the prediction is created: its input if that is large, and files sent with it. */
export interface InputParts {
  text: Uint8Array | null;
  files: OwnFile[];
}

/** A large input in UTF-8; null for any other. */
export function largeInput(text: string): Uint8Array | null {
  // A UTF-16 unit has at most 3 bytes: those of a short text need not be counted.
  if (text.length * 3 <= MAX_INLINE_BYTES) return null;
  const bytes = new TextEncoder().encode(text);
  return bytes.byteLength > MAX_INLINE_BYTES ? bytes : null;
}

export const storedInputOf = (text: Uint8Array | null): StoredValue | null =>
  text && { name: INPUT_NAME, size: text.byteLength };

/** The most that R2 is sent of them: of a file that it has in parts nothing more. */
export function bytesOfParts({ text, files }: InputParts): number {
  const sizes = files.map(({ content }) =>
    content instanceof Uint8Array ? content.byteLength : 0,
  );
  const copies = files.some(({ content }) => typeof content === "string") ? MAX_COPIED_BYTES : 0;
  return sizes.reduce((sum, size) => sum + size, (text?.byteLength ?? 0) + copies);
}

/** Writes the row first: without it nobody would know what to delete. */
export async function storeInput(
  { env }: Services,
  spec: PredictionSpec,
  objectId: string,
  { text, files }: InputParts,
): Promise<void> {
  const isTaken = await accountAt(env, spec.account_object).put(initialRow(spec, objectId));
  if (!isTaken) throw new Error("the account takes no predictions");
  await Promise.all([
    text && putValue(env.FILES, valueKey(spec.id, INPUT_NAME), text),
    ...files.map((file) => storeFile(env.FILES, file)),
  ]);
}

async function storeFile(bucket: R2Bucket, { key, content, ...facts }: OwnFile) {
  if (typeof content === "object" && "multipart_id" in content) {
    const { multipart_id, etags } = content;
    if (await completeMultipart(bucket, { key, multipart_id }, etags)) return;
    throw new Error(`the parts of ${key} have been deleted meanwhile`);
  }
  const original = typeof content === "string" ? await getFile(bucket, content) : undefined;
  const body = typeof content === "string" ? original?.body : content;
  if (!body) throw new Error(`${content} has been deleted meanwhile`);
  await putFile(bucket, key, body, { ...(original && factsOf(original)), ...facts });
}

/** Deletes what was written for a prediction that was not created. If that fails its account does it. */
export async function discardPrediction(
  { env }: Services,
  spec: PredictionSpec,
  objectId: string,
): Promise<void> {
  const { id, user_id, account_object } = spec;
  try {
    if (hasStoredInput(spec)) await deleteAll(env.FILES, id);
    await accountAt(env, account_object).discard(id, objectId);
  } catch (error) {
    logger.warn("Prediction not discarded", { prediction_id: id, user_id, error });
  }
}
