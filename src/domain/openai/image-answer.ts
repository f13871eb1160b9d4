/** The pictures that a prediction has made, and the answer of an image call. */
import { z } from "zod";
import type { Json } from "../../protocol/common.ts";
import {
  type ImageRequest,
  type ServerImageEvent,
  type ServerUsage,
  serverImages,
} from "../../protocol/openai/image.ts";
import { NO_COST, TranslationFailed, valuesIn } from "./translation.ts";

export interface Picture {
  url: string;
  revised_prompt?: string | undefined;
}

/** The properties of the pictures that answers and events contain. */
export interface Traits {
  size?: string | undefined;
  quality?: string | undefined;
  background?: string | undefined;
  output_format?: string | undefined;
}

export interface MadePictures extends Traits {
  pictures: Picture[];
  usage?: ServerUsage | undefined;
}

/** The most pictures of an answer: a call asks for 10, and for 3 on the way to each. */
export const MAX_PICTURES = 100;

export const TOO_MANY_PICTURES = `The output of the model has more than ${MAX_PICTURES} images.`;
const NOT_PICTURES = "The output of the model is not a list of image files.";

/** @throws TranslationFailed */
export function cogPictures(outputs: Json[]): MadePictures {
  const values = [...valuesIn(outputs)];
  if (values.length > MAX_PICTURES) throw new TranslationFailed(TOO_MANY_PICTURES);
  const urls = z.array(z.url()).min(1).safeParse(values).data;
  if (!urls) throw new TranslationFailed(NOT_PICTURES);
  return { pictures: urls.map((url) => ({ url })) };
}

/** @throws TranslationFailed */
export function serverPictures(outputs: Json[]): MadePictures {
  const answer = serverImages.safeParse(outputs.at(-1)).data;
  if (answer && answer.data.length > MAX_PICTURES) throw new TranslationFailed(TOO_MANY_PICTURES);
  const pictures = answer?.data.map(pictureOf) ?? [];
  if (!answer || pictures.length === 0) throw new TranslationFailed(NOT_PICTURES);
  const { size, quality, background, output_format, usage } = answer;
  return { pictures, size, quality, background, output_format, usage };
}

/** @throws TranslationFailed for a picture that is no file: its runner found no image in it */
export function pictureOf({
  url,
  revised_prompt,
}: Pick<ServerImageEvent, "url"> & { revised_prompt?: string | null | undefined }): Picture {
  if (!url) throw new TranslationFailed("The server returned an image that cannot be read.");
  return { url, ...(revised_prompt && { revised_prompt }) };
}

/** The published values of each property; the answer has no other. */
const VALUES = {
  size: ["1024x1024", "1024x1536", "1536x1024"],
  quality: ["low", "medium", "high"],
  background: ["transparent", "opaque"],
  output_format: ["png", "webp", "jpeg"],
} as const;

/** Returns the known properties: those that the server tells, and those that the caller asked for and got. */
export function traitsOf(
  request: Pick<ImageRequest, keyof typeof VALUES>,
  made: Traits,
  mimeType: string | undefined,
): Traits {
  const known = {
    size: made.size ?? request.size,
    quality: made.quality ?? request.quality,
    background: made.background ?? request.background,
    output_format: mimeType?.match(/^image\/(png|webp|jpeg)$/)?.[1] ?? made.output_format,
  };
  const published = (name: keyof typeof VALUES) => VALUES[name].find((one) => one === known[name]);
  return {
    ...optional("background", published("background")),
    ...optional("output_format", published("output_format")),
    ...optional("size", published("size")),
    ...optional("quality", published("quality")),
  };
}

const optional = (name: string, value: string | undefined) =>
  value === undefined ? {} : { [name]: value };

export const eventTraits = (traits: Traits): Required<Traits> => ({
  size: "auto",
  quality: "auto",
  background: "auto",
  output_format: "png",
  ...traits,
});

/** Returns the usage as published: with its sum, and how much of the input was text. */
export function usageOf(usage: ServerUsage): ServerUsage {
  const { input_tokens, output_tokens } = usage;
  return {
    total_tokens: input_tokens + output_tokens,
    input_tokens_details: { text_tokens: input_tokens, image_tokens: 0 },
    ...usage,
    ...NO_COST,
  };
}

/** The usage of a model that counts no tokens: events always have a usage. */
export const NO_USAGE: ServerUsage = usageOf({ input_tokens: 0, output_tokens: 0 });
