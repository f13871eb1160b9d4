/** Pictures as the convention answers them: base64 in objects. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

/** The first characters of each format, in base64. */
const FORMATS: [start: string, type: string][] = [
  ["iVBOR", "png"],
  ["/9j/", "jpeg"],
  ["UklGR", "webp"],
  ["R0lGOD", "gif"],
];

/** A data URL of what the convention has as base64. */
export function pictureIn({ b64_json }: { [name: string]: Json }): string | undefined {
  if (typeof b64_json !== "string") return undefined;
  const [, type = "png"] = FORMATS.find(([start]) => b64_json.startsWith(start)) ?? [];
  return `data:image/${type};base64,${b64_json}`;
}

/** The addresses of all pictures of an answer; undefined when there is anything else in it. */
export function picturesIn(value: Json): string[] | undefined {
  if (!isObject(value) || !Array.isArray(value.data) || value.data.length === 0) return undefined;
  const addresses = value.data.map((one) => (isObject(one) ? addressIn(one) : undefined));
  return addresses.every((one) => one !== undefined) ? addresses : undefined;
}

function addressIn(picture: { [name: string]: Json }): string | undefined {
  const { url, b64_json, ...others } = picture;
  if (Object.keys(others).length > 0) return undefined;
  return pictureIn(picture) ?? (typeof url === "string" ? url : undefined);
}
