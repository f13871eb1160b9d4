/** Files of Replicate's API: uploads that come as one form. */
import { hasFullAccess, onlyMaker } from "../../domain/accounts/access.ts";
import { lacksCharset } from "../../domain/files/file-type.ts";
import type { FormField } from "../../domain/openai/form-fields.ts";
import { REPLICATE_PATH } from "../../domain/replicate/prediction.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { conflict, notVisible } from "../../errors/errors.ts";
import { hex } from "../../lib/hex.ts";
import { isUtf8 } from "../../lib/utf8-check.ts";
import { uuid } from "../../protocol/common.ts";
import { type ReplicateFile, replicatePageOf, sentMetadata } from "../../protocol/replicate.ts";
import { createUpload } from "../../protocol/upload.ts";
import { completeMultipart, putPart } from "../../storage/files/files.ts";
import { listCompletedUploads, type UploadRow } from "../../storage/files/uploads.ts";
import type { Caller } from "../access/access.ts";
import { markComplete } from "../files/complete-upload.ts";
import { presentUploadedFile } from "../files/upload-view.ts";
import { beginUpload, getUpload } from "../files/uploads.ts";
import { type PageRequest, paginate } from "../pagination.ts";
import type { InlineFile, InlineFiles } from "../predictions/inline-files.ts";
import type { Services } from "../services.ts";

/** @throws ValidationFailure; ProblemError conflict for an account that has as much as it may */
export async function createReplicateFile(
  services: Services,
  caller: Caller,
  fields: FormField[],
  { prediction_id: id, files }: InlineFiles,
  origin: string,
): Promise<ReplicateFile> {
  const fileIn = (name: string): InlineFile | undefined => {
    const value = fields.find((field) => field.name === name)?.value;
    return files.find(({ url }) => url === value);
  };
  const textIn = (name: string): string | undefined => {
    const file = fileIn(name);
    // The npm client sends its metadata as a file.
    if (file?.content instanceof Uint8Array) return new TextDecoder().decode(file.content);
    return fields.find((field) => field.name === name)?.value;
  };
  const file = fileIn("content");
  if (!file) throw invalid(["body", "content"], "Send the file in this field", "missing");
  const { content, key } = file;
  const size = content instanceof Uint8Array ? content.length : content.size;
  if (size === 0) throw invalid(["body", "content"], "The file is empty");
  const mime_type = createUpload.shape.mime_type.safeParse(textIn("type")).data ?? file.mime_type;
  const name = createUpload.shape.name.safeParse(textIn("filename")).data ?? file.name;
  const sha256 =
    content instanceof Uint8Array
      ? hex(await crypto.subtle.digest("SHA-256", content))
      : content.sha256;
  const details = { sha256, metadata: metadataIn(textIn("metadata")) };
  const { user_id, token_id, maker } = caller;
  const row = await beginUpload(
    services,
    id,
    { user_id, prediction_id: null, token_id, maker, key },
    { size, mime_type, name },
    { details, ...(!(content instanceof Uint8Array) && { multipart_id: content.multipart_id }) },
  );
  const { FILES } = services.env;
  const etags =
    content instanceof Uint8Array
      ? [(await putPart(FILES, row, 1, content))?.etag ?? ""]
      : content.etags;
  if (!(await completeMultipart(FILES, row, etags)))
    throw conflict("The file was deleted during the upload. Send it again.");
  const expires_at = Date.now() + services.settings.retentionSeconds * 1_000;
  const is_utf8 = content instanceof Uint8Array && lacksCharset(mime_type) && isUtf8(content);
  return present(await markComplete(services, row.id, { expires_at, is_utf8 }), origin);
}

/** @throws ValidationFailure */
function metadataIn(text = "{}"): Record<string, unknown> {
  const { success, data } = sentMetadata.safeParse(text);
  if (success) return data;
  throw invalid(["body", "metadata"], "Send a JSON object of at most 4,000 characters");
}

/** Lists the files that the caller may read, those that expire last first. */
export async function listReplicateFiles(services: Services, caller: Caller, request: PageRequest) {
  const { origin } = new URL(request.url);
  const { user_id } = caller;
  const sender = {
    tokenId: hasFullAccess(caller) ? undefined : caller.token_id,
    maker: onlyMaker(caller),
  };
  const page = await paginate(services, request, {
    name: JSON.stringify(["replicate files", user_id, sender]),
    find: (keyset) => listCompletedUploads(services.db, user_id, sender, keyset),
    keyOf: ({ expires_at, id }) => [expires_at, id],
    present: (row) => present(row, origin),
  });
  return replicatePageOf(page);
}

/** @throws ProblemError not_found, forbidden */
export const readReplicateFile = async (
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<ReplicateFile> => present(await completedUpload(services, caller, id), origin);

/** Returns the signed URL of a file's content. @throws ProblemError not_found, forbidden */
export async function replicateFileUrl(
  services: Services,
  caller: Caller,
  id: string,
  origin: string,
): Promise<string> {
  const row = await completedUpload(services, caller, id);
  return (await presentUploadedFile(services, row, origin)).file_url ?? "";
}

async function completedUpload(services: Services, caller: Caller, id: string): Promise<UploadRow> {
  const what = `The file '${id.slice(0, 100)}'`;
  const row = uuid.safeParse(id).success
    ? await getUpload(services, caller, id.toLowerCase(), what)
    : null;
  if (!row || row.completed_at === null) throw notVisible(what);
  return row;
}

function present(row: UploadRow, origin: string): ReplicateFile {
  const { id, name, key, mime_type, size, details, created_at, expires_at } = row;
  return {
    id,
    name: name ?? key.slice(key.indexOf("/") + 1),
    content_type: mime_type,
    size,
    etag: details?.sha256 ?? id,
    checksums: details ? { sha256: details.sha256 } : {},
    metadata: details?.metadata ?? {},
    created_at: new Date(created_at).toISOString(),
    expires_at: new Date(expires_at).toISOString(),
    urls: { get: `${origin}${REPLICATE_PATH}/files/${id}` },
  };
}
