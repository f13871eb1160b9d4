/** Images: the prediction of a call, and its answer. */
import { pictureSchema } from "../../domain/images/picture-schema.ts";
import {
  cogPictures,
  type MadePictures,
  serverPictures,
  traitsOf,
  usageOf,
} from "../../domain/openai/image-answer.ts";
import { type GivenImages, imageInput } from "../../domain/openai/image-input.ts";
import { invalidParameter } from "../../errors/openai.ts";
import { objectPieces } from "../../lib/json-splice.ts";
import type { Json } from "../../protocol/common.ts";
import type { AskedImages, ImageEditRequest, ImageRequest } from "../../protocol/openai/image.ts";
import type { Caller } from "../accounts/caller.ts";
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
import {
  type Base64,
  findPicture,
  type PictureFormat,
  type PicturePiece,
  pictureJson,
  pieceBytes,
} from "./picture-files.ts";

type ImageCall = Omit<Call, "call" | "body" | "input">;

export const isServer = ({ version }: ResolvedVersion) =>
  version.configuration.interface === "vendora";

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

const ONE_OF_BOTH = "Name the images to edit, either in 'image' or in 'images'.";

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
    const created = unixSeconds(prediction.created_at);
    const pieces = await answerPieces(services, request, prediction.id, created, made);
    return streamOf(pieceBytes(services, pieces));
  } catch (error) {
    throw asOpenAiProblem(error);
  }
}

async function answerPieces(
  services: Services,
  request: AskedImages,
  id: string,
  created: number,
  made: MadePictures,
): Promise<PicturePiece[]> {
  const found = await Promise.all(made.pictures.map((one) => findPicture(services, id, one)));
  const format = formatOf(request);
  const members = {
    created,
    ...traitsOf(request, made, found[0]?.mime_type),
    ...(made.usage && { usage: usageOf(made.usage) }),
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
