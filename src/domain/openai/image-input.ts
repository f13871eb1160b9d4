/**
 * The input of a Cog image model, made from an image call by its schema. A parameter that would change the
 * picture and that the schema does not have is refused, and not ignored.
 */
import type { Json } from "../../protocol/common.ts";
import type { ImageRequest } from "../../protocol/openai/image.ts";
import { isInteger, isStringField, type PictureSchema } from "../images/picture-schema.ts";
import { enumOptions, type Keywords } from "../schemas/input-form-schema.ts";
import { lacks, UnfitParameter } from "./unsupported.ts";

export interface GivenImages {
  images: string[];
  mask?: string | undefined;
}

/** Parameters that `otherInput` skips: they are handled elsewhere, or do not affect the picture. */
const NOT_INPUT = new Set([
  ...["model", "prompt", "n", "size", "response_format", "stream", "partial_images"],
  ...["output_format", "output_compression", "image", "images", "mask"],
  // Auspex ignores these parameters: without a field in the schema, nothing moderates and no user is tracked.
  ...["user", "moderation", "safety_identifier", "metadata", "extra_headers"],
]);

/** Values that leave the choice to the model, as a missing value does. */
const NO_WISH: Record<string, Json[]> = {
  quality: ["auto", "standard"],
  background: ["auto"],
  input_fidelity: ["low"],
};

type Input = Record<string, Json>;

/** @throws UnfitParameter */
export function imageInput(
  request: ImageRequest,
  schema: PictureSchema,
  { images, mask }: GivenImages = { images: [] },
): Input {
  const { prompt, n, size, output_format, output_compression } = request;
  return {
    ...otherInput(request, schema),
    prompt,
    ...(n !== undefined && n !== null && countInput(n, schema)),
    ...(size && size !== "auto" && sized(size, schema)),
    ...(output_format && formatInput(output_format, schema)),
    ...(output_compression !== undefined &&
      output_compression !== null &&
      compressionInput(output_compression, schema)),
    ...(images.length > 0 && imagesInput(images, schema)),
    ...(mask !== undefined && maskInput(mask, schema)),
  };
}

function countInput(n: number, { count }: PictureSchema): Input {
  const bound = boundOf(n, count?.keywords);
  if (bound) throw unfit("n", `cannot be ${n}: the model generates ${bound} per request.`);
  if (count) return { [count.name]: n };
  if (n === 1) return {};
  throw unfit(
    "n",
    "must be 1: the model generates one image per request. Send a separate request for each image.",
  );
}

function sized(size: string, schema: PictureSchema): Input {
  const input = sizeInput(size, schema);
  if (!input)
    throw unfit(
      "size",
      `cannot be '${size}': the model's input schema has neither 'width' and 'height' nor a 'size' or 'aspect_ratio' that is ${size}. Use another size, or omit it.`,
    );
  for (const side of ["width", "height"]) checkSide(side, input[side], schema);
  return input;
}

function checkSide(side: string, pixels: Json | undefined, { fields }: PictureSchema): void {
  const bound = boundOf(pixels, fields.get(side));
  if (bound)
    throw unfit("size", `cannot have a ${side} of ${pixels}: the model supports ${bound} pixels.`);
}

/** Returns the bound that a value exceeds: the model's own error would name an unknown field. */
function boundOf(value: Json | undefined, { minimum, maximum }: Keywords = {}): string | undefined {
  if (typeof value !== "number") return undefined;
  if (typeof minimum === "number" && value < minimum) return `at least ${minimum}`;
  return typeof maximum === "number" && value > maximum ? `at most ${maximum}` : undefined;
}

function formatInput(format: string, { fields }: PictureSchema): Input {
  const spellings = format === "jpeg" ? ["jpeg", "jpg"] : [format];
  for (const name of ["output_format", "format"]) {
    const field = fields.get(name);
    if (!isStringField(field)) continue;
    const options = enumOptions(field);
    const value = options ? spellings.find((one) => options.includes(one)) : format;
    if (value !== undefined) return { [name]: value };
  }
  throw unfit(
    "output_format",
    `cannot be '${format}': the model's input schema does not support it. Omit it to use the model's default.`,
  );
}

function compressionInput(compression: number, { fields }: PictureSchema): Input {
  const name = ["output_compression", "output_quality"].find((one) => fields.has(one));
  if (name !== undefined) return { [name]: compression };
  throw lacks("output_compression");
}

function imagesInput(images: string[], { image, takesSeveral }: PictureSchema): Input {
  const [only] = images;
  if (!image || only === undefined) throw lacks("image");
  if (takesSeveral) return { [image.name]: images };
  if (images.length > 1)
    throw unfit(
      "image",
      `can be one image for this model, and ${images.length} were sent. Send one, or call a model that takes several.`,
    );
  return { [image.name]: only };
}

function maskInput(mask: string, { mask: field }: PictureSchema): Input {
  if (field) return { [field.name]: mask };
  throw lacks("mask");
}

/** Returns the parameters that the schema has by the same name, such as `seed`. */
function otherInput(request: ImageRequest, { fields }: PictureSchema): Input {
  const input: Input = {};
  for (const [name, value] of Object.entries(request)) {
    if (NOT_INPUT.has(name) || value === null || value === undefined) continue;
    if (NO_WISH[name]?.includes(value)) continue;
    const field = fields.get(name);
    if (!field) throw lacks(name.slice(0, MAX_SHOWN));
    const typed = asTyped(value, field);
    const options = enumOptions(field);
    if (options && !options.includes(typed))
      throw unfit(
        name,
        `cannot be '${String(value).slice(0, 50)}': the model's input schema does not support it. Use a supported value, or omit it.`,
      );
    input[name] = typed;
  }
  return input;
}

/** Converts a value to the field's type. A form has only texts. */
function asTyped(value: Json, { type }: Keywords): Json {
  if (typeof value !== "string") return value;
  const types = [type ?? []].flat();
  if (types.includes("string")) return value;
  const isNumber = types.includes("number") || types.includes("integer");
  if (isNumber && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value);
  if (types.includes("boolean") && /^(?:true|false)$/i.test(value)) return /^true$/i.test(value);
  return value;
}

/** The characters of a parameter's name in an error: unknown names can be of any length. */
const MAX_SHOWN = 200;

/** @param why continues the sentence after the parameter's name, and says what to do next */
const unfit = (param: string, why: string) =>
  new UnfitParameter(param, "unsupported_parameter", `'${param}' ${why}`);

/** The most by which a ratio may differ from the requested one: 1792x1024 is nearly 16:9. */
const TOLERANCE = 0.03;

function sizeInput(size: string, { fields }: PictureSchema): Record<string, Json> | undefined {
  const [width = 0, height = 0] = size.split("x").map(Number);
  if (isInteger(fields.get("width")) && isInteger(fields.get("height"))) return { width, height };
  for (const name of ["size", "image_size", "resolution"]) {
    const field = fields.get(name);
    if (!isStringField(field)) continue;
    const options = enumOptions(field);
    const option = options?.find((one) => pairOf(one, /[x*×]/)?.join("x") === size);
    if (option !== undefined) return { [name]: option };
    if (!options && name === "size") return { size };
  }
  const ratio = fields.get("aspect_ratio");
  if (!isStringField(ratio)) return undefined;
  const options = enumOptions(ratio);
  const found = options ? nearest(options, width / height) : reduced(width, height);
  return found === undefined ? undefined : { aspect_ratio: found };
}

function nearest(options: Json[], ratio: number): Json | undefined {
  const distances = options.flatMap((option) => {
    const [width, height] = pairOf(option, /[:x/]/) ?? [];
    if (width === undefined || height === undefined) return [];
    return [{ option, distance: Math.abs(width / height / ratio - 1) }];
  });
  const [best] = distances.sort((one, other) => one.distance - other.distance);
  return best && best.distance <= TOLERANCE ? best.option : undefined;
}

function pairOf(option: Json, separator: RegExp): [number, number] | undefined {
  const [first, second, ...more] = typeof option === "string" ? option.split(separator) : [];
  const pair: [number, number] = [Number(first), Number(second)];
  return more.length === 0 && pair.every((one) => one > 0 && Number.isFinite(one))
    ? pair
    : undefined;
}

function reduced(width: number, height: number): string {
  let [a, b] = [width, height];
  while (b > 0) [a, b] = [b, a % b];
  return `${width / a}:${height / a}`;
}
