/** URLs in an input that stay valid while its page is open. */
import { accessToUpload } from "../../domain/accounts/access.ts";
import { ProblemError } from "../../errors/errors.ts";
import { findOwnUploads } from "../../storage/files/uploads.ts";
import type { Caller } from "../accounts/caller.ts";
import { createFileUrl } from "../files/files.ts";
import { signedFileUrl } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";

/** How long the URLs of a page are valid: long enough to look at it. */
const PAGE_URL_SECONDS = 3_600;
const MAX_URLS = 20;

const SIGNED_URL =
  /"(https?:\/\/[^"/\\]+)\/v1\/files\/([\w-]+)\/([\w.-]+)\?expires=(\d+)&signature=[\w-]+"/g;

/**
 * Replaces expired URLs of the caller's own uploads, which are valid for a day.
 * @param input JSON text
 */
export async function refreshInputUrls(
  services: Services,
  caller: Caller,
  origin: string,
  input: string,
): Promise<string> {
  const expired = [...input.matchAll(SIGNED_URL)].filter(
    ([, at, , , expires]) =>
      (at === origin || at === services.settings.filesOrigin) &&
      Number(expires) * 1000 < Date.now(),
  );
  const renewed = await Promise.all(
    expired.slice(0, MAX_URLS).map(async ([old, , source_id = "", file_name = ""]) => {
      const file = { source_id: source_id.toLowerCase(), file_name };
      const found = await createFileUrl(services, caller, file, PAGE_URL_SECONDS, origin).catch(
        (error) => {
          // The file has been deleted: its URL stays as it was.
          if (error instanceof ProblemError) return undefined;
          throw error;
        },
      );
      return [old, found && JSON.stringify(found.url)] as const;
    }),
  );
  return renewed.reduce((text, [old, now]) => (now ? text.replaceAll(old, now) : text), input);
}

const UPLOAD = /"(?:(https?:\/\/[^"/\\]+))?\/v1\/uploads\/([0-9a-f-]{36})"(?!\s*:)/gi;

/**
 * Replaces uploads by signed URLs of their files, which a browser can open. For display only.
 * @param input JSON text
 */
export async function withUploadUrls(
  services: Services,
  caller: Caller,
  origin: string,
  input: string,
): Promise<string> {
  const named = [...input.matchAll(UPLOAD)].filter(([, at = origin]) => at === origin);
  const ids = [...new Set(named.map(([, , id = ""]) => id.toLowerCase()))].slice(0, MAX_URLS);
  if (ids.length === 0) return input;
  const uploads = await findOwnUploads(services.db, caller.user_id, ids);
  const expires = Date.now() + PAGE_URL_SECONDS * 1000;
  const addresses = new Map(
    await Promise.all(
      uploads
        .filter(({ completed_at }) => completed_at !== null)
        .filter((upload) => accessToUpload(caller, upload) === "granted")
        .map(async ({ id, key }): Promise<[string, string]> => {
          return [id, JSON.stringify(await signedFileUrl(services, origin, key, expires))];
        }),
    ),
  );
  return input.replaceAll(UPLOAD, (text, at: string | undefined, id: string) =>
    (at ?? origin) === origin ? (addresses.get(id.toLowerCase()) ?? text) : text,
  );
}
