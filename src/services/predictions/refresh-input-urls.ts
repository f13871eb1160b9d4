/** The files that an input names, by addresses that are good while somebody looks at it. */
import { accessToUpload } from "../../domain/accounts/access.ts";
import { ProblemError } from "../../errors.ts";
import { findOwnUploads } from "../../storage/files/uploads.ts";
import type { Caller } from "../accounts/caller.ts";
import { createFileUrl } from "../files/files.ts";
import { signedFileUrl } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";

/** So long somebody looks at a page. */
const ADDRESS_SECONDS = 3_600;
const MAX_REFRESHED = 20;

const SIGNED =
  /"(https?:\/\/[^"/\\]+)\/v1\/files\/([\w-]+)\/([\w.-]+)\?expires=(\d+)&signature=[\w-]+"/g;

/**
 * Uploads are named by addresses that last for a day: of those that have expired it has new ones,
 * for it is their owner who looks. @param input JSON text
 */
export async function refreshInputUrls(
  services: Services,
  caller: Caller,
  origin: string,
  input: string,
): Promise<string> {
  const expired = [...input.matchAll(SIGNED)].filter(
    ([, at, , , expires]) =>
      (at === origin || at === services.settings.filesOrigin) &&
      Number(expires) * 1000 < Date.now(),
  );
  const renewed = await Promise.all(
    expired.slice(0, MAX_REFRESHED).map(async ([old, , source_id = "", file_name = ""]) => {
      const file = { source_id, file_name };
      const found = await createFileUrl(services, caller, file, ADDRESS_SECONDS, origin).catch(
        (error) => {
          // It is gone: its address stays what it was.
          if (error instanceof ProblemError) return undefined;
          throw error;
        },
      );
      return [old, found && JSON.stringify(found.url)] as const;
    }),
  );
  return renewed.reduce((text, [old, now]) => (now ? text.replaceAll(old, now) : text), input);
}

const UPLOAD = /"(?:(https?:\/\/[^"/\\]+))?\/v1\/uploads\/([0-9a-f-]{36})"(?!\s*:)/g;

/**
 * The uploads of it by addresses of their files, which a browser can open: for looking at, for the
 * prediction itself was given the uploads. @param input JSON text
 */
export async function withUploads(
  services: Services,
  caller: Caller,
  origin: string,
  input: string,
): Promise<string> {
  const named = [...input.matchAll(UPLOAD)].filter(([, at = origin]) => at === origin);
  const ids = [...new Set(named.map(([, , id = ""]) => id))].slice(0, MAX_REFRESHED);
  if (ids.length === 0) return input;
  const uploads = await findOwnUploads(services.db, caller.user_id, ids);
  const expires = Date.now() + ADDRESS_SECONDS * 1000;
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
    (at ?? origin) === origin ? (addresses.get(id) ?? text) : text,
  );
}
