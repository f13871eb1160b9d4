/** The upload resource, with its signed URLs. */
import { partCount, partLength, type Upload } from "../../protocol/upload.ts";
import { listParts, type UploadRow } from "../../storage/files/uploads.ts";
import type { Caller } from "../access/access.ts";
import type { Services } from "../services.ts";
import { SIGNED_URL_SECONDS, signedFileUrl, signedPartUrl } from "./signed-urls.ts";

export async function presentUpload(
  services: Services,
  { token_id, scopes }: Pick<Caller, "token_id" | "scopes">,
  row: UploadRow,
  origin: string,
): Promise<Upload> {
  const pending = row.completed_at === null;
  const [parts, urls, file] = await Promise.all([
    pending ? listParts(services.db, row.id) : [],
    // URLs of parts allow writing, so a read-only token does not get them.
    pending && scopes.includes("predict") ? partUrls(services, row, origin, token_id) : [],
    presentUploadedFile(services, row, origin),
  ]);
  return {
    ...file,
    part_size: row.part_size,
    urls,
    parts: parts.map(({ part_number, etag }) => ({ part_number, etag: `"${etag}"` })),
  };
}

/** An upload without its parts. */
export async function presentUploadedFile(
  services: Services,
  { id, size, mime_type, name, key, created_at, completed_at, expires_at }: UploadRow,
  origin: string,
): Promise<Omit<Upload, "part_size" | "urls" | "parts">> {
  const pending = completed_at === null;
  const until = Math.min(expires_at, Date.now() + SIGNED_URL_SECONDS * 1000);
  return {
    id,
    url: `${origin}/v1/uploads/${id}`,
    status: pending ? "pending" : "completed",
    size,
    mime_type,
    name,
    file_url: pending ? null : await signedFileUrl(services, origin, key, until),
    created_at: new Date(created_at).toISOString(),
    expires_at: new Date(expires_at).toISOString(),
  };
}

/**
 * The URLs of an upload's parts, in order. They are valid while the upload is pending and the token or
 * session of its holder is.
 */
export const partUrls = (
  services: Services,
  { id, size, part_size, expires_at }: UploadRow,
  origin: string,
  holder: string | null,
): Promise<string[]> =>
  Promise.all(
    Array.from({ length: partCount(size, part_size) }, (_, n) => {
      const number = n + 1;
      const length = partLength(size, part_size, number);
      return signedPartUrl(services, origin, { id, number, length, holder }, expires_at);
    }),
  );
