/**
 * Files that came with a request, as data URIs, in a form, or as base64 in messages. They belong to the
 * prediction that it creates, and are removed with its data; its input has their addresses. The runner turns
 * a data URI or base64 into a data URI again.
 */

import { withImageAddresses } from "../../domain/anthropic/image-sources.ts";
import { dataUri } from "../../domain/files/data-uri.ts";
import { sentName } from "../../domain/files/file-name.ts";
import { lacksCharset } from "../../domain/files/file-type.ts";
import { replaceText } from "../../domain/files/input-files.ts";
import { findBase64Data, findDataUris, LONG_DATA_URI } from "../../domain/files/json-data-uris.ts";
import { madeName } from "../../domain/files/media-types.ts";
import { newPredictionUuid } from "../../domain/predictions/prediction-id.ts";
import { invalid } from "../../domain/schemas/validation.ts";
import { hex } from "../../lib/hex.ts";
import { isUtf8 } from "../../lib/utf8-check.ts";
import type { Json } from "../../protocol/common.ts";
import type { InputFile } from "../../protocol/runner.ts";
import { createUpload } from "../../protocol/upload.ts";
import { fileKey } from "../../storage/files/files.ts";
import { signedFileUrl } from "../files/signed-urls.ts";
import type { Services } from "../services.ts";

export interface OwnFile {
  key: string;
  name: string;
  mime_type: string;
  content: Uint8Array<ArrayBuffer> | CopiedFile | UploadedParts;
  /** Whether the bytes are UTF-8, as in `FileFacts`. */
  data_uri?: true;
  is_utf8?: boolean;
}

/** A file in R2 that it becomes a copy of. */
interface CopiedFile {
  source: string;
  size: number;
}

/** A multipart upload in R2 that is not complete, so that it is no file yet. */
export interface UploadedParts {
  multipart_id: string;
  etags: string[];
  size: number;
  sha256: string;
}

export interface InlineFile extends OwnFile {
  url: string;
  content: Uint8Array<ArrayBuffer> | UploadedParts;
  /** Whether the file came as base64 without its type. */
  is_base64?: true;
}

export interface InlineFiles {
  prediction_id: string;
  files: InlineFile[];
}

/**
 * The bytes of all copies, as much as a body may have: each copy is stored again, and naming a file costs its
 * sender nothing.
 */
const MAX_COPIED_BYTES = 10 * 1024 * 1024;

/** The longest that a prediction waits and runs, without its retention. */
export const WORK_MS = 2 * 86_400_000;

/**
 * The kind of body that files are taken out of. "messages": also the base64 that messages have next to its
 * type.
 */
export type SentBy = "any" | "messages";

/** Takes long files out of a JSON body. @returns the rest of the body, in pieces */
export async function takeFiles(
  services: Services,
  origin: string,
  sender: SentBy,
  json: Uint8Array,
): Promise<{ pieces: (Uint8Array | string)[]; sent?: InlineFiles }> {
  const encoded = sender === "messages" ? findBase64Data(json, LONG_DATA_URI) : [];
  const found = [
    ...findDataUris(json, LONG_DATA_URI),
    ...encoded.map((one) => ({ ...one, mime_type: UNKNOWN_TYPE, is_base64: true as const })),
  ].sort((a, b) => a.from - b.from);
  if (found.length === 0) return { pieces: [json] };
  const sent: InlineFiles = { prediction_id: newPredictionUuid(), files: [] };
  const pieces: (Uint8Array | string)[] = [];
  let end = 0;
  for (const { from, to, ...file } of found) {
    const { mime_type, content } = file;
    const stem = sentName("data", sent.files.length + 1, "");
    const name = "is_base64" in file ? stem : madeName(stem, mime_type);
    const key = fileKey(sent.prediction_id, name);
    const url = await addressOf(services, origin, key);
    const is_utf8 = lacksCharset(mime_type) && isUtf8(content);
    sent.files.push({ ...file, key, name, url, data_uri: true, is_utf8 });
    pieces.push(json.subarray(end, from), JSON.stringify(url));
    end = to;
  }
  return { pieces: [...pieces, json.subarray(end)], sent };
}

/** The type of base64 until its neighbours in the message tell it. */
const UNKNOWN_TYPE = "application/octet-stream";

/** Returns the body of messages with the addresses of their images; base64 that is no image is put back. */
export function withSentImages(body: Json, sent: InlineFiles): { body: Json; sent?: InlineFiles } {
  const encoded = new Map(
    sent.files.filter(({ is_base64 }) => is_base64).map((file) => [file.url, file]),
  );
  const files = sent.files.filter(({ is_base64 }) => !is_base64);
  const placed = withImageAddresses(body, (url, mediaType) => {
    const file = encoded.get(url);
    const { success, data: mime_type } = createUpload.shape.mime_type.safeParse(mediaType);
    if (!file || !success) return undefined;
    files.push({ ...file, mime_type, name: madeName(file.name, mime_type) });
    encoded.delete(url);
    return url;
  });
  const whole = withTexts(placed, (text) => {
    const content = encoded.get(text)?.content;
    return content instanceof Uint8Array ? content.toBase64() : undefined;
  });
  return files.length > 0 ? { body: whole, sent: { ...sent, files } } : { body: whole };
}

/** The address of a sent file, which is valid as long as the prediction has data. */
export const addressOf = (services: Services, origin: string, key: string) =>
  signedFileUrl(
    services,
    origin,
    key,
    Date.now() + services.settings.retentionSeconds * 1_000 + WORK_MS,
  );

/** Returns the input as it was sent, with its data URIs, which is what the version's schema describes. */
export function asSent<Input extends Json>(input: Input, sent: InlineFiles | undefined): Json {
  if (!sent) return input;
  const files = new Map(sent.files.map((file) => [file.url, file]));
  return withTexts(input, (text) => {
    const file = files.get(text);
    return file?.content instanceof Uint8Array && file.data_uri
      ? dataUri(file.mime_type, file.content.toBase64())
      : undefined;
  });
}

/** @param textOf returns the replacement of a text, if there is one */
function withTexts(value: Json, textOf: (text: string) => string | undefined): Json {
  if (typeof value === "string") return textOf(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => withTexts(item, textOf));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, withTexts(item, textOf)]),
  );
}

/** Returns the input in a form that can be compared: the addresses of sent files differ each time. */
export async function comparable(text: string, sent: InlineFiles | undefined): Promise<string> {
  let compared = text;
  for (const { url, mime_type, content } of sent?.files ?? []) {
    const hash =
      content instanceof Uint8Array
        ? hex(await crypto.subtle.digest("SHA-256", content))
        : content.sha256;
    compared = compared.replaceAll(url, `${mime_type} ${hash}`);
  }
  return compared;
}

/**
 * Copies the sent files that an input takes from earlier predictions, as the conversation of a response does:
 * the originals are removed with those predictions' data.
 * @param id of the new prediction
 * @throws ValidationFailure when they are more than a body could have brought
 */
export async function withCopies<Input extends Json>(
  services: Services,
  origin: string,
  id: string,
  { input, files }: { input: Input; files: InputFile[] },
): Promise<{ input: Input; files: InputFile[]; copies: OwnFile[] }> {
  const copies = new Map<string, OwnFile>();
  let copied = input;
  const own: InputFile[] = [];
  let bytes = 0;
  for (const file of files) {
    const { at, stored } = file;
    if (!stored?.data_uri || stored.key.startsWith(`${id}/`)) {
      own.push(file);
      continue;
    }
    const { name, mime_type } = stored;
    const key = fileKey(id, madeName(sentName("earlier", copies.size + 1, ""), mime_type));
    const known = copies.get(stored.key);
    const content = { source: stored.key, size: stored.size };
    const copy = known ?? { key, name, mime_type, content, data_uri: true };
    copies.set(stored.key, copy);
    if (!known) bytes += stored.size;
    if (bytes > MAX_COPIED_BYTES) throw invalid(["body", "input"], TOO_MUCH);
    copied = replaceText(copied, at, await addressOf(services, origin, copy.key));
    own.push({ at, stored: { ...stored, key: copy.key } });
  }
  return { input: copied, files: own, copies: [...copies.values()] };
}

const TOO_MUCH =
  "Files sent as data URIs in earlier requests can have at most 10 MiB in total. Upload them with POST /v1/uploads instead.";
