/** The upload resource, with its signed URLs. */
import { partCount } from "../../domain/files/upload-plan.ts";
import { partLength, type Upload } from "../../protocol/upload.ts";
import { listParts, type UploadRow } from "../../storage/files/uploads.ts";
import type { Caller } from "../accounts/caller.ts";
import type { Services } from "../services.ts";
import { SIGNED_URL_SECONDS, signedFileUrl, signedPartUrl } from "./signed-urls.ts";

export async function presentUpload(
  services: Services,
  { token_id, scopes }: Pick<Caller, "token_id" | "scopes">,
  row: UploadRow,
  origin: string,
): Promise<Upload> {
  const { id, size, part_size, key, expires_at } = row;
  const pending = row.completed_at === null;
  const until = Math.min(expires_at, Date.now() + SIGNED_URL_SECONDS * 1000);
  const [parts, urls, fileUrl] = await Promise.all([
    pending ? listParts(services.db, id) : [],
    // These URLs allow writing, so a read-only token does not get them.
    pending && scopes.includes("predict") ? partUrls(services, row, origin, token_id) : [],
    pending ? null : signedFileUrl(services, origin, key, until),
  ]);
  return {
    id,
    url: `${origin}/v1/uploads/${id}`,
    status: pending ? "pending" : "completed",
    size,
    mime_type: row.mime_type,
    name: row.name,
    part_size,
    urls,
    parts: parts.map(({ part_number, etag }) => ({ part_number, etag: `"${etag}"` })),
    file_url: fileUrl,
    created_at: new Date(row.created_at).toISOString(),
    expires_at: new Date(expires_at).toISOString(),
  };
}

/** In order. Valid while the upload is pending and its holder's token or session is. */
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
