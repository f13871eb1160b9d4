/** What to do when an upload has broken off, in words. */
import { isRetryable, messageOf, statusOf } from "../control-plane/error.ts";
import type { UploadOptions } from "./options.ts";
import { formatBytes } from "./progress.ts";

/** The service will not have this upload any more, whatever is sent: only a new one helps. */
export function isUploadGone(error: unknown): boolean {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500 && status !== 401 && !isRetryable(error);
}

/** Before there is an upload. */
export function adviceAtBegin(error: unknown, { url, file }: UploadOptions): string {
  const why = messageOf(error);
  switch (statusOf(error)) {
    case 401:
      return `${why}\n${NEW_TOKEN}`;
    case 404:
      return `${url} takes no uploads: ${why}\nIs this the address of the service (AUSPEX_URL, --url)?`;
    case 422:
      return `${file.path} (${formatBytes(file.size)}) is not taken: ${why}\nWhat is too large has to be split, or the operator allows larger parts (UPLOAD_PART_MAX_MIB).`;
    default:
      return isRetryable(error)
        ? `${why}\nLook at the address (AUSPEX_URL, --url) and the network, then run the same command again.`
        : why;
  }
}

/** While parts are sent, or put together. */
export function adviceMidway(error: unknown, resumable: boolean): string {
  const why = messageOf(error);
  if (isUploadGone(error)) return `${why}\nRun the same command again: it begins anew.`;
  if (statusOf(error) === 401) return `${why}\n${NEW_TOKEN} ${runAgain(resumable)}`;
  return isRetryable(error) ? `${why}\n${runAgain(resumable)}` : why;
}

export const runAgain = (remembered: boolean): string =>
  remembered
    ? "Run the same command again: it goes on from here."
    : "Run the same command again: it begins anew.";

const NEW_TOKEN =
  "Put a token that is valid, with the scope predict, into AUSPEX_TOKEN (or --token-file).";
