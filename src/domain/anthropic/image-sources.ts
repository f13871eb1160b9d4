/** Images of messages: the source of a long one is the address of a file of its prediction. */

import { type Fields, isFields } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { dataUriHead } from "../files/data-uri.ts";

/** @param addressOf returns the address of the file that replaces the data, if it is one */
export const withImageAddresses = (
  value: Json,
  addressOf: (data: string, mediaType: string) => string | undefined,
): Json =>
  withImages(value, ({ type, media_type, data, ...rest }) => {
    const isEncoded = type === "base64" && typeof data === "string" && isEmpty(rest);
    if (!isEncoded || typeof media_type !== "string") return undefined;
    const url = addressOf(data, media_type);
    return url === undefined ? undefined : { type: "url", url };
  });

/** Returns addresses that are data URIs as data: servers may know only addresses of the web. */
export const withImageData = (value: Json): Json =>
  withImages(value, ({ type, url, ...rest }) => {
    if (type !== "url" || typeof url !== "string" || !isEmpty(rest)) return undefined;
    return encodedSource(url);
  });

/** Returns a data URI as the source of an image; undefined for any other address. */
export function encodedSource(url: string): Fields | undefined {
  const head = dataUriHead(url);
  return head && { type: "base64", media_type: head.mime_type, data: url.slice(head.length) };
}

/** @param sourceOf returns the new source of an image; undefined to keep its own */
function withImages(value: Json, sourceOf: (source: Fields) => Fields | undefined): Json {
  if (Array.isArray(value)) return value.map((item) => withImages(item, sourceOf));
  if (!isFields(value)) return value;
  const source = value.type === "image" && isFields(value.source) && sourceOf(value.source);
  if (source) return { ...value, source };
  const entries = Object.entries(value).map(([name, part]) => [name, withImages(part, sourceOf)]);
  return Object.fromEntries(entries);
}

const isEmpty = (rest: object) => Object.keys(rest).length === 0;
