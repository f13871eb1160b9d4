/** A size in pixels in the form that a model takes: its sides, a text, or the ratio of its sides. */
import type { Json } from "../../protocol/common.ts";
import { isInteger, isStringField, type PictureSchema } from "../images/picture-schema.ts";
import { enumOptions } from "../schemas/input-form-schema.ts";

/** The most by which a ratio may differ from the requested one: 1792x1024 is nearly 16:9. */
const TOLERANCE = 0.03;

/** @returns undefined for a model that takes no such size */
export function sizeInput(
  size: string,
  { fields }: PictureSchema,
): Record<string, Json> | undefined {
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

/** Returns the two numbers in a text. */
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
