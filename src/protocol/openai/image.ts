/** Images of the OpenAI convention: made from a text, and edited. */
import { z } from "zod";
import { json } from "../common.ts";
import { openAiModelName, openAiWebhook } from "./chat.ts";

/** The convention's limits of a prompt, of images made and of images given. */
const MAX_PROMPT_CHARS = 32_000;
const MAX_IMAGES = 10;
const MAX_INPUTS = 16;

const size = z
  .string()
  .regex(/^(?:auto|[1-9]\d{0,4}x[1-9]\d{0,4})$/, "WIDTHxHEIGHT in pixels, or auto")
  .meta({ description: "As `WIDTHxHEIGHT`", example: "1024x1024" });

const common = {
  model: openAiModelName,
  prompt: z.string().min(1).max(MAX_PROMPT_CHARS),
  n: z.int().min(1).max(MAX_IMAGES).nullish(),
  size: size.nullish(),
  quality: z.string().max(50).nullish(),
  background: z.string().max(50).nullish(),
  output_format: z.enum(["png", "jpeg", "webp"]).nullish(),
  output_compression: z.int().min(0).max(100).nullish(),
  response_format: z.enum(["url", "b64_json"]).nullish().meta({
    description: "How images are returned. By default, both",
  }),
  stream: z.boolean().nullish(),
  partial_images: z.int().min(0).max(3).nullish(),
  seed: z
    .int()
    .min(-(2 ** 31))
    .max(2 ** 32 - 1)
    .nullish()
    .meta({ description: "Auspex extension, for models with this input" }),
  webhook: openAiWebhook,
};

/** The body of POST /vendora/images/generations. */
export const imageRequest = z
  .object(common)
  .catchall(json)
  .meta({ example: { model: "demo/image", prompt: "Hills at dusk", size: "512x384" } });
export type ImageRequest = z.infer<typeof imageRequest>;

/** The options of an answer that do not describe the picture. */
export type AskedImages = Pick<
  ImageRequest,
  "size" | "quality" | "background" | "output_format" | "response_format"
>;

/** A URL or a data URI. */
const address = z.string().min(1).max(10_000_000);
const reference = z.object({ image_url: address });

const inputs = {
  image: z.union([address, z.array(address).min(1).max(MAX_INPUTS)]).optional(),
  images: z
    .array(z.union([reference, address]))
    .min(1)
    .max(MAX_INPUTS)
    .optional(),
  mask: z.union([reference, address]).nullish(),
};

/**
 * The body of POST /vendora/images/edits, as JSON or as a form: there the images are files. In JSON they are
 * `images` by the convention, and `image` by clients that leave its form.
 */
export const imageEditRequest = z
  .object({ ...common, ...inputs })
  .catchall(json)
  .meta({
    example: {
      model: "demo/image",
      prompt: "The same hills at night",
      images: [{ image_url: "https://example.com/hills.png" }],
    },
  });
export type ImageEditRequest = z.infer<typeof imageEditRequest>;

/** An answer of a server, or an event of its stream, once its images are files: `url` in place of `b64_json`. */
const picture = { url: z.string().nullish(), b64_json: z.string().nullish() };
const traits = {
  size: z.string().optional().catch(undefined),
  quality: z.string().optional().catch(undefined),
  background: z.string().optional().catch(undefined),
  output_format: z.string().optional().catch(undefined),
};

export const serverUsage = z.looseObject({
  input_tokens: z.int().nonnegative(),
  output_tokens: z.int().nonnegative(),
  total_tokens: z.int().nonnegative().optional(),
  input_tokens_details: z
    .looseObject({ text_tokens: z.int().nonnegative(), image_tokens: z.int().nonnegative() })
    .optional()
    .catch(undefined),
});
export type ServerUsage = z.infer<typeof serverUsage>;

const usage = serverUsage.optional().catch(undefined);

export const serverImages = z.looseObject({
  data: z
    .array(z.looseObject({ ...picture, revised_prompt: z.string().nullish().catch(null) }))
    .min(1),
  ...traits,
  usage,
});

export const serverImageEvent = z.looseObject({
  type: z.string().regex(/^image_(?:generation|edit)\.(?:partial_image|completed)$/),
  partial_image_index: z.int().nonnegative().optional().catch(undefined),
  ...picture,
  ...traits,
  usage,
});
export type ServerImageEvent = z.infer<typeof serverImageEvent>;
