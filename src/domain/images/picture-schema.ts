/** A Cog model's names for the parameters of an image call, and whether its output is a picture. */
import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { enumOptions, type Keywords, SchemaResolver } from "../schemas/input-form-schema.ts";
import { versionSchema } from "../schemas/version-schemas.ts";
import { type Field, isFile, isFreeText, isList, typesOf } from "./model-fields.ts";

/** Names that models use, the most specific first. */
const COUNTS = ["num_outputs", "num_images", "number_of_images", "num_samples", "n"];
const IMAGES = ["image", "input_image", "init_image", "image_input", "input_images", "images"];
const MASKS = ["mask", "mask_image", "input_mask"];

/** Words that make a model one of films, sound or shapes: a schema cannot say what a file is. */
const NOT_PICTURES =
  /(?:^|_)(?:fps|frames?|duration|seconds|video|loop|motion|camera|audio|voice|speaker|speech|lyrics|music|tempo|mesh|texture)(?:_|$)/;
const PICTURE_FORMATS = ["png", "jpg", "jpeg", "webp", "gif", "avif"];
const DIMENSIONS = /^[1-9]\d{1,4}\s*[x*×]\s*[1-9]\d{1,4}$/;

export interface PictureSchema {
  fields: Map<string, Keywords>;
  required: Json[];
  count?: Field | undefined;
  /** The picture to edit, which may be a list. */
  image?: Field | undefined;
  takesSeveral: boolean;
  mask?: Field | undefined;
  makesPictures: boolean;
}

export function pictureSchema(schemas: Schemas): PictureSchema {
  const input = versionSchema(schemas, "input");
  const resolver = SchemaResolver.of(input);
  const { properties, required } = resolver.resolve(input);
  const fields = new Map(
    Object.entries(fieldsOf(properties)).map(([name, part]) => [name, resolver.resolve(part)]),
  );
  const find = (names: string[], is: (one: Keywords) => boolean): Field | undefined => {
    for (const name of names) {
      const keywords = fields.get(name);
      if (keywords && is(keywords)) return { name, keywords };
    }
    return undefined;
  };
  const isFiles = (part: Keywords) => isList(part) && isFile(resolver.resolve(part.items));
  const image = find(IMAGES, (part) => isFile(part) || isFiles(part));
  const output = versionSchema(schemas, "output");
  const outputs = SchemaResolver.of(output);
  const answer = outputs.resolve(output);
  const isOutput = isFile(answer) || (isList(answer) && isFile(outputs.resolve(answer.items)));
  return {
    fields,
    required: listOf(required),
    count: find(COUNTS, isInteger),
    image,
    takesSeveral: image !== undefined && isFiles(image.keywords),
    mask: find(MASKS, isFile),
    makesPictures: isOutput && isFreeText(fields.get("prompt") ?? {}) && speaksOfPictures(fields),
  };
}

function speaksOfPictures(fields: Map<string, Keywords>): boolean {
  const names = [...fields.keys()];
  if (names.some((name) => NOT_PICTURES.test(name))) return false;
  if (isInteger(fields.get("width")) && isInteger(fields.get("height"))) return true;
  if (names.includes("aspect_ratio") || COUNTS.slice(0, 3).some((name) => fields.has(name)))
    return true;
  return ["size", "image_size", "output_format", "format"].some((name) => {
    const options = enumOptions(fields.get(name) ?? {}) ?? [];
    return options.length > 0 && options.every(isPictureOption);
  });
}

const isPictureOption = (option: Json) =>
  typeof option === "string" &&
  (PICTURE_FORMATS.includes(option) || DIMENSIONS.test(option) || option === "auto");

export const isInteger = (part: Keywords | undefined): part is Keywords =>
  part !== undefined && typesOf(part).includes("integer");

export const isStringField = (part: Keywords | undefined): part is Keywords =>
  part !== undefined && (typesOf(part).includes("string") || enumOptions(part) !== undefined);
