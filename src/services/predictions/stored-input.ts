/** Large inputs, and files sent with them, are stored in R2 before their prediction is created. */
import { initialRow } from "../../domain/predictions/prediction-row.ts";
import { hasStoredInput, type PredictionSpec } from "../../domain/predictions/state.ts";
import { logger } from "../../log.ts";
import { accountAt } from "../../objects/stubs/account.ts";
import type { StoredValue } from "../../protocol/event.ts";
import {
  completeMultipart,
  deleteAll,
  factsOf,
  fileKey,
  getFile,
  putFile,
  putValue,
  valueKey,
} from "../../storage/files/files.ts";
import { withinFileQuota } from "../files/file-quota.ts";
import type { Services } from "../services.ts";
import type { OwnFile } from "./inline-files.ts";

/** The largest input, as JSON text, that its object stores itself. */
const MAX_INLINE_BYTES = 1024 * 1024;

const INPUT_NAME = "input";

/**
 * The parts that are stored in R2 before the prediction is created: a large input, and files sent with it.
 */
export interface InputParts {
  text: Uint8Array | null;
  files: OwnFile[];
}

/** Returns a large input in UTF-8; null for any other. */
export function largeInput(text: string): Uint8Array | null {
  // A UTF-16 unit has at most 3 bytes, so a short text need not be encoded to be measured.
  if (text.length * 3 <= MAX_INLINE_BYTES) return null;
  const bytes = new TextEncoder().encode(text);
  return bytes.byteLength > MAX_INLINE_BYTES ? bytes : null;
}

export const storedInputOf = (text: Uint8Array | null): StoredValue | null =>
  text && { name: INPUT_NAME, size: text.byteLength };

const sizeOf = ({ content }: OwnFile): number =>
  content instanceof Uint8Array ? content.byteLength : content.size;

const isInR2 = ({ content }: OwnFile): boolean => "multipart_id" in content;

const bytesOf = ({ text, files }: InputParts): number =>
  files.reduce((sum, file) => sum + sizeOf(file), text?.byteLength ?? 0);

/** The bytes that R2 does not have yet: a file in parts counts none. */
export const bytesSent = ({ text, files }: InputParts): number =>
  bytesOf({ text, files: files.filter((file) => !isInR2(file)) });

/**
 * Stores the input, after the prediction's row: the row says what to delete.
 * @throws ProblemError conflict when the account has no room for files
 */
export async function storeInput(
  services: Services,
  spec: PredictionSpec,
  objectId: string,
  parts: InputParts,
): Promise<void> {
  const { env } = services;
  const isTaken = await accountAt(env, spec.account_object).put(initialRow(spec, objectId));
  if (!isTaken) throw new Error("the account takes no predictions");
  const counted = { ...spec, key: fileKey(spec.id, INPUT_NAME), bytes: bytesOf(parts) };
  await withinFileQuota(services, counted, "conflict", async () => {
    await Promise.all([
      parts.text && putValue(env.FILES, valueKey(spec.id, INPUT_NAME), parts.text),
      ...parts.files.map((file) => storeFile(env.FILES, file)),
    ]);
  });
}

async function storeFile(bucket: R2Bucket, { key, content, ...facts }: OwnFile) {
  if ("multipart_id" in content) {
    const { multipart_id, etags } = content;
    if (await completeMultipart(bucket, { key, multipart_id }, etags)) return;
    throw new Error(`the parts of ${key} have been deleted meanwhile`);
  }
  if (content instanceof Uint8Array) return putFile(bucket, key, content, facts);
  const original = await getFile(bucket, content.source);
  if (!original) throw new Error(`${content.source} has been deleted meanwhile`);
  await putFile(bucket, key, original.body, { ...factsOf(original), ...facts });
}

/** Deletes the parts of a prediction that was not created. If this fails, its account does it. */
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
