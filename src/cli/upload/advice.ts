/** Error messages of uploads, with what to do next. */
import { isRetryable, messageOf, statusOf } from "../../../runner/src/control-plane/error.ts";
import { formatBytes } from "../ui/progress.ts";
import type { LocalFile } from "./local-file.ts";

/** Whether the service no longer accepts this upload, so that only a new one helps. */
export function isUploadGone(error: unknown): boolean {
  const status = statusOf(error) ?? 0;
  return status >= 400 && status < 500 && status !== 401 && !isRetryable(error);
}

/** For errors before the upload was created. */
export function adviceAtBegin(error: unknown, url: string, file: LocalFile): string {
  const why = messageOf(error);
  switch (statusOf(error)) {
    case 401:
      return `${why}\n${NEW_TOKEN}`;
    case 404:
      return `${url} does not accept uploads: ${why}\nCheck the address of the deployment (AUSPEX_URL, --url).`;
    case 422:
      return `${file.path} (${formatBytes(file.size)}) was rejected: ${why}\nSplit files that are too large, or ask the operator to allow larger parts (UPLOAD_PART_MAX_MIB).`;
    default:
      return isRetryable(error)
        ? `${why}\nCheck the address (AUSPEX_URL, --url) and the network, then run the same command again.`
        : why;
  }
}

/** For errors while parts are sent or assembled. */
export function adviceMidway(error: unknown, resumable: boolean): string {
  const why = messageOf(error);
  if (isUploadGone(error)) return `${why}\nRun the same command again to start over.`;
  if (statusOf(error) === 401) return `${why}\n${NEW_TOKEN} ${runAgain(resumable)}`;
  return isRetryable(error) ? `${why}\n${runAgain(resumable)}` : why;
}

export const runAgain = (remembered: boolean): string =>
  remembered
    ? "Run the same command again to resume."
    : "Run the same command again to start over.";

const NEW_TOKEN =
  "Run auspex login with a valid token that has the scope predict, or set AUSPEX_TOKEN.";
