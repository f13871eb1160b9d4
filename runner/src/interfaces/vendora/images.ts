/**
 * The images in the answers of a server, which come as base64: each becomes a file, so that no prediction's
 * log has megabytes of it.
 */
import { dataUri } from "../../../../src/domain/files/data-uri.ts";
import { isObject } from "../../../../src/lib/json.ts";
import type { Json } from "../../../../src/protocol/common.ts";

/** What an image may have, as base64 and with others in one answer: more than an output may have inline. */
export const MAX_ANSWER_BYTES = 64 * 1024 ** 2;

/** How the base64 of a format begins. */
const BEGINNINGS = { iVBORw0KGgo: "png", "/9j/": "jpeg", UklGR: "webp", R0lGOD: "gif" };

/** An answer, or an event of a stream, with a data URI as `url` in place of `b64_json`. */
export function withFiles(answer: Record<string, Json>): Record<string, Json> {
  const { data, ...rest } = answer;
  const file = fileOf(rest);
  return Array.isArray(data)
    ? { ...file, data: data.map((one) => (isObject(one) ? fileOf(one) : one)) }
    : data === undefined
      ? file
      : { ...file, data };
}

function fileOf(image: Record<string, Json>): Record<string, Json> {
  const { b64_json, ...rest } = image;
  if (typeof b64_json !== "string") return rest;
  const type = Object.entries(BEGINNINGS).find(([beginning]) =>
    b64_json.startsWith(beginning),
  )?.[1];
  return type === undefined ? rest : { ...rest, url: dataUri(`image/${type}`, b64_json) };
}
