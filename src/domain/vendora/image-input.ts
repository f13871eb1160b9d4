/**
 * The input of a Cog image model, made from an image call by its schema. What would change the picture and
 * has no place there is refused, and not ignored.
 */
import type { Json } from "../../protocol/common.ts";
import type { ImageRequest } from "../../protocol/vendora/image.ts";
import { isStringField, type PictureSchema } from "../images/picture-schema.ts";
import { enumOptions, type Keywords } from "../schemas/input-form-schema.ts";
import { sizeInput } from "./image-size.ts";

/** The images of an edit; none for a generation. */
export interface GivenImages {
  images: string[];
  mask?: string | undefined;
}

export class UnsupportedByModel extends Error {
  readonly param: string;

  constructor(param: string, message: string) {
    super(message);
    this.param = param;
  }
}

/** What is not the picture's, or is said by the answer. */
const NOT_INPUT = new Set([
  ...["model", "prompt", "n", "size", "response_format", "stream", "partial_images"],
  ...["output_format", "output_compression", "image", "images", "mask"],
  // Without a place in the schema there is nothing that would moderate, and nobody to be told of.
  ...["user", "moderation", "safety_identifier", "metadata", "extra_headers"],
]);

/** Values that leave it to the model, which is what it does anyway. */
const NO_WISH: Record<string, Json[]> = {
  quality: ["auto", "standard"],
  background: ["auto"],
  input_fidelity: ["low"],
};

type Input = Record<string, Json>;

/** @throws UnsupportedByModel */
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
  if (count) return { [count.name]: n };
  if (n === 1) return {};
  throw new UnsupportedByModel("n", "it makes one picture at a time: send a request for each");
}

function sized(size: string, schema: PictureSchema): Input {
  const input = sizeInput(size, schema);
  if (input) return input;
  throw new UnsupportedByModel(
    "size",
    `its input schema has neither 'width' and 'height' nor a 'size' or 'aspect_ratio' that is ${size}`,
  );
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
  throw new UnsupportedByModel(
    "output_format",
    `its input schema has no 'output_format' that is ${format}`,
  );
}

function compressionInput(compression: number, { fields }: PictureSchema): Input {
  const name = ["output_compression", "output_quality"].find((one) => fields.has(one));
  if (name !== undefined) return { [name]: compression };
  throw new UnsupportedByModel("output_compression", lacks("output_compression"));
}

function imagesInput(images: string[], { image, takesSeveral }: PictureSchema): Input {
  const [only] = images;
  if (!image || only === undefined) throw new UnsupportedByModel("image", lacks("image"));
  if (takesSeveral) return { [image.name]: images };
  if (images.length > 1) throw new UnsupportedByModel("image", "it takes one image: send one");
  return { [image.name]: only };
}

function maskInput(mask: string, { mask: field }: PictureSchema): Input {
  if (field) return { [field.name]: mask };
  throw new UnsupportedByModel("mask", lacks("mask"));
}

/** What the schema has by the same name, such as `seed` and what clients call `extra_body`. */
function otherInput(request: ImageRequest, { fields }: PictureSchema): Input {
  const input: Input = {};
  for (const [name, value] of Object.entries(request)) {
    if (NOT_INPUT.has(name) || value === null || value === undefined) continue;
    if (NO_WISH[name]?.includes(value)) continue;
    const field = fields.get(name);
    if (!field) throw new UnsupportedByModel(name, lacks(name));
    const typed = asTyped(value, field);
    const options = enumOptions(field);
    if (options && !options.includes(typed))
      throw new UnsupportedByModel(name, `its '${name}' has no '${String(value).slice(0, 50)}'`);
    input[name] = typed;
  }
  return input;
}

/** A form has texts only. */
function asTyped(value: Json, { type }: Keywords): Json {
  if (typeof value !== "string") return value;
  const types = [type ?? []].flat();
  if (types.includes("string")) return value;
  const isNumber = types.includes("number") || types.includes("integer");
  if (isNumber && /^-?\d{1,15}(?:\.\d{1,15})?$/.test(value)) return Number(value);
  if (types.includes("boolean") && /^(?:true|false)$/i.test(value)) return /^true$/i.test(value);
  return value;
}

const lacks = (name: string) => `its input schema does not have '${name}'`;
