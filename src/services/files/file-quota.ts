/** FILES_GB: the bytes of files that an account may have, uploads and what its predictions store together. */
import { type ProblemCode, ProblemError } from "../../errors/errors.ts";
import { byteText } from "../../lib/text.ts";
import { accountAt } from "../../objects/stubs/account.ts";
import type { Services } from "../services.ts";

/** The object in R2 that a task is about to store, under its prediction's id. */
interface NewObject {
  user_id: string;
  account_object: string;
  key: string;
  bytes: number;
}

/**
 * Counts an object until the data of its prediction is removed, unless storing it fails.
 * @param code of the refusal
 * @throws ProblemError
 */
export async function withinFileQuota<Result>(
  { env, settings }: Services,
  { user_id, account_object, key, bytes }: NewObject,
  code: ProblemCode,
  task: () => Promise<Result>,
): Promise<Result> {
  const account = accountAt(env, account_object);
  const maxBytes = settings.fileBytes;
  const used = await account.addFile(user_id, { key, bytes, maxBytes });
  if (used !== undefined) throw fileQuotaExceeded(code, used, bytes, maxBytes);
  try {
    return await task();
  } catch (error) {
    // If the removal fails, the object counts until the data of the prediction is removed.
    await account.removeFile(key).catch(() => {});
    throw error;
  }
}

export const fileQuotaExceeded = (code: ProblemCode, used: number, size: number, max: number) =>
  new ProblemError(
    code,
    `Your files use ${byteText(used)} of ${byteText(max)}, and this file has ${byteText(size)}. Delete unused uploads and predictions, or ask the operator to raise FILES_GB.`,
  );
