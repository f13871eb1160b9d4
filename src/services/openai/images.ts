/** Images: the prediction of a call, and its answer. */

import { pictureSchema } from "../../domain/images/picture-schema.ts";
import { interfaceOf } from "../../domain/models/remote.ts";
import {
  cogPictures,
  type MadePictures,
  type Picture,
  serverPictures,
  traitsOf,
  usageOf,
} from "../../domain/openai/image-answer.ts";
import { type GivenImages, imageInput } from "../../domain/openai/image-input.ts";
import { costIn, TranslationFailed } from "../../domain/openai/translation.ts";
import { invalidParameter } from "../../errors/openai.ts";
import { objectPieces } from "../../lib/json-splice.ts";
import type { Json } from "../../protocol/common.ts";
import { oneFile } from "../../protocol/file.ts";
import type { AskedImages, ImageEditRequest, ImageRequest } from "../../protocol/openai/image.ts";
import type { Prediction } from "../../protocol/prediction.ts";
import { factsOf, fileKey, getFile, headFile } from "../../storage/files/files.ts";
import type { Caller } from "../access/access.ts";
import type { ResolvedVersion } from "../predictions/version-resolution.ts";
import type { Services } from "../services.ts";
import {
  type BegunCall,
  beginCall,
  type Call,
  type EndedCall,
  timeLimit,
  unixSeconds,
} from "./calls.ts";
import { asOpenAiProblem, failureOf } from "./failure.ts";
import { orUnfit } from "./model-input.ts";

const FILE = /^\/v1\/files\/([^/]+)\/([^/]+)$/;

const encoder = new TextEncoder();

/** A group of three bytes becomes four characters. */
const GROUP = 3;

type ImageCall = Omit<Call, "call" | "body" | "input">;

export const isServer = ({ version }: ResolvedVersion) =>
  interfaceOf(version.configuration) === "vendora";

/** @throws OpenAiProblem unsupported_parameter, and as beginCall */
export function beginImages(
  services: Services,
  caller: Caller,
  request: ImageRequest,
  call: ImageCall,
): Promise<BegunCall> {
  const { target } = call;
  const input = isServer(target) ? request : ofCog(request, target);
  return beginCall(services, caller, { ...call, call: "images_generations", body: request, input });
}

/** @throws OpenAiProblem unsupported_parameter, and as beginCall */
export function beginEdit(
  services: Services,
  caller: Caller,
  request: ImageEditRequest,
  call: ImageCall,
): Promise<BegunCall> {
  const { target } = call;
  const { image, images: references, mask, ...rest } = request;
  if ((image === undefined) === (references === undefined))
    throw invalidParameter("image", "missing_required_parameter", ONE_OF_BOTH);
  const given = { images: [image ?? references ?? []].flat().map(addressIn) };
  const withMask: GivenImages = mask ? { ...given, mask: addressIn(mask) } : given;
  const input = isServer(target) ? { ...rest, ...named(withMask) } : ofCog(rest, target, withMask);
  return beginCall(services, caller, { ...call, call: "images_edits", body: rest, input });
}

const ONE_OF_BOTH = "Send the images to edit in 'image' or 'images'.";

/** Names the images of a form as a server has them: one image is no list. */
const named = ({ images: [image = "", ...more], mask }: GivenImages): Record<string, Json> => ({
  image: more.length === 0 ? image : [image, ...more],
  ...(mask !== undefined && { mask }),
});

const addressIn = (one: string | { image_url: string }) =>
  typeof one === "string" ? one : one.image_url;

function ofCog(
  request: ImageRequest,
  { version }: ResolvedVersion,
  given?: GivenImages,
): Record<string, Json> {
  return orUnfit(() => imageInput(request, pictureSchema(version.schemas), given));
}

export const formatOf = ({ response_format }: AskedImages): PictureFormat =>
  response_format ?? "both";

/** @throws OpenAiProblem when it has failed, or has made no pictures */
export async function imagesAnswer(
  services: Services,
  request: AskedImages,
  target: ResolvedVersion,
  { prediction, outputs }: EndedCall,
): Promise<ReadableStream<Uint8Array>> {
  const failure = failureOf(prediction, timeLimit(services, "plain"));
  if (failure) throw failure;
  try {
    const made = isServer(target) ? serverPictures(outputs) : cogPictures(outputs);
    const pieces = await answerPieces(services, request, prediction, made);
    return streamOf(pieceBytes(services, pieces));
  } catch (error) {
    throw asOpenAiProblem(error);
  }
}

async function answerPieces(
  services: Services,
  request: AskedImages,
  { id, created_at, cost }: Prediction,
  made: MadePictures,
): Promise<PicturePiece[]> {
  const found = await Promise.all(made.pictures.map((one) => findPicture(services, id, one)));
  const format = formatOf(request);
  const members = {
    created: unixSeconds(created_at),
    ...traitsOf(request, made, found[0]?.mime_type),
    ...(made.usage && { usage: { ...usageOf(made.usage), ...costIn(cost) } }),
  };
  const data = found.flatMap((one, n) => [n === 0 ? "[" : ",", ...pictureJson(one, format)]);
  return [...objectPieces<Base64>(members, { data: [...data, "]"] })];
}

const streamOf = (bytes: AsyncGenerator<Uint8Array, void, void>) =>
  new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await bytes.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await bytes.return();
    },
  });

/** How a picture is written; by default in both ways, since clients of either kind ask for neither. */
type PictureFormat = "url" | "b64_json" | "both";

/** A file whose base64 is written at this place. */
interface Base64 {
  key: string;
}

type PicturePiece = string | Base64;

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
  if (!found) throw new TranslationFailed("An image file was deleted.");
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
    throw new TranslationFailed("The server returned URLs. Set 'response_format' to 'url'.");
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
