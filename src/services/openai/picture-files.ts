/// <reference lib="esnext.typedarrays" />
/** The files of pictures, written into JSON: as URLs, and as base64 that is read while it is sent. */
import type { Picture } from "../../domain/openai/image-answer.ts";
import { TranslationFailed } from "../../domain/openai/translation.ts";
import { objectPieces } from "../../lib/json-splice.ts";
import { oneFile } from "../../protocol/file.ts";
import { factsOf, fileKey, getFile, headFile } from "../../storage/files/files.ts";
import type { Services } from "../services.ts";

/** How a picture is written; by default in both ways, since clients of either kind ask for neither. */
export type PictureFormat = "url" | "b64_json" | "both";

/** A file whose base64 is written at this place. */
export interface Base64 {
  key: string;
}

export type PicturePiece = string | Base64;

const FILE = /^\/v1\/files\/([^/]+)\/([^/]+)$/;

const encoder = new TextEncoder();

/** @returns undefined for a URL that is no file of this prediction: a model may name any address */
function keyIn(url: string, predictionId: string): string | undefined {
  const [, source_id, file_name] = FILE.exec(URL.parse(url)?.pathname ?? "") ?? [];
  const file = oneFile.safeParse({ source_id, file_name }).data;
  return file?.source_id === predictionId ? fileKey(file.source_id, file.file_name) : undefined;
}

/** A picture whose file exists. */
export interface FoundPicture extends Picture {
  key: string | undefined;
  mime_type: string | undefined;
}

/** @throws TranslationFailed for a file that does not exist, or is no image */
export async function findPicture(
  { env }: Services,
  predictionId: string,
  picture: Picture,
): Promise<FoundPicture> {
  const key = keyIn(picture.url, predictionId);
  if (key === undefined) return { ...picture, key, mime_type: undefined };
  const found = await headFile(env.FILES, key);
  if (!found) throw new TranslationFailed("The file of an image has been deleted meanwhile.");
  const { mime_type } = factsOf(found);
  if (!mime_type.startsWith("image/"))
    throw new TranslationFailed(`The output of the model has a file of the type ${mime_type}.`);
  return { ...picture, key, mime_type };
}

/**
 * @param members besides the picture's
 * @throws TranslationFailed
 */
export function pictureJson(
  { url, key, revised_prompt }: FoundPicture,
  format: PictureFormat,
  members: object = {},
): Iterable<PicturePiece> {
  if (key === undefined && format === "b64_json")
    throw new TranslationFailed("The server answered with addresses of its own: ask for 'url'.");
  const all = {
    ...members,
    ...(format !== "b64_json" && { url }),
    ...(revised_prompt !== undefined && { revised_prompt }),
  };
  const isBase64 = format !== "url" && key !== undefined;
  return objectPieces<Base64>(all, isBase64 ? { b64_json: ['"', { key }, '"'] } : {});
}

/** Yields the bytes of JSON in pieces. */
export async function* pieceBytes(
  { env }: Services,
  pieces: Iterable<PicturePiece>,
): AsyncGenerator<Uint8Array, void, void> {
  for (const piece of pieces) {
    if (typeof piece === "string") {
      yield encoder.encode(piece);
      continue;
    }
    const file = await getFile(env.FILES, piece.key);
    if (!file) throw new Error(`the file ${piece.key} is gone`);
    yield* base64Stream(file.body);
  }
}

/** A group of three bytes becomes four characters. */
const GROUP = 3;

async function* base64Stream(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  /** The last bytes, fewer than three, which have no base64 without those that follow. */
  let rest = new Uint8Array();
  const reader = stream.getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      const bytes = new Uint8Array(rest.length + value.length);
      bytes.set(rest);
      bytes.set(value, rest.length);
      const whole = bytes.length - (bytes.length % GROUP);
      if (whole > 0) yield encoder.encode(bytes.subarray(0, whole).toBase64());
      rest = bytes.slice(whole);
    }
    if (rest.length > 0) yield encoder.encode(rest.toBase64());
  } finally {
    await reader.cancel().catch(() => {});
  }
}
