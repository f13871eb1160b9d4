/**
 * How a value is displayed: as text, image, link or tree; on the server and in the browser. Files of
 * other hosts are linked, never loaded.
 */

import { dataUriHead } from "../../domain/files/data-uri.ts";
import { messageText } from "../../domain/predictions/output-text.ts";
import { numberIn } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import { embeddingsIn, type Vector } from "./embeddings.ts";
import { picturesIn } from "./pictures.ts";

export type Output =
  | { kind: "text"; text: string }
  | { kind: "image" | "audio" | "video" | "file"; address: string; name: string }
  /** @property text the URL verbatim; `address` is normalized */
  | { kind: "link"; address: string; text: string }
  /** Each item is displayed by its own kind. */
  | { kind: "list"; items: string[] }
  /** @property value that they are in */
  | { kind: "embeddings"; vectors: Vector[]; value: Json }
  | { kind: "json"; value: Json };

/** Outputs that are URLs. */
export type UrlKind = Exclude<Output, { kind: "text" | "list" | "embeddings" | "json" }>;

export const isUrlKind = (output: Output): output is UrlKind => "address" in output;

const MEDIA: Record<string, "image" | "audio" | "video"> = {
  ...kinds("image", "png jpg jpeg gif webp avif bmp"),
  ...kinds("audio", "mp3 wav ogg oga opus flac m4a aac"),
  ...kinds("video", "mp4 webm mov m4v ogv"),
};

/**
 * The outputs in order, with streamed text joined. A piece of streamed text is never a link: what
 * looks like a URL may continue in the next piece.
 */
export function outputsOf(values: Json[], { display, host, whole }: Pieces): Output[] {
  const all: Output[] = [];
  // Collected and joined once: appending piece by piece is too slow for many pieces.
  let texts: string[] = [];
  const flush = () => {
    if (texts.length > 0) all.push({ kind: "text", text: texts.join("") });
    texts = [];
  };
  const linked = display === "list" || (whole && values.length === 1);
  for (const value of values) {
    const isFirst = all.length === 0 && texts.length === 0;
    const output = linked ? outputOf(value, host, isFirst) : pieceOf(value, host, isFirst);
    if (output.kind === "text" && output.text === "") continue;
    if (output.kind === "text" && display === "text") texts.push(output.text);
    else {
      flush();
      all.push(output);
    }
  }
  flush();
  return all;
}

interface Pieces {
  /** Whether strings are pieces of one text or items of a list. */
  display: "text" | "list";
  /** Host of the page. */
  host: string;
  /** Whether the output is complete. */
  whole: boolean;
}

/** A piece of a streamed output. @param isFirst whether nothing was displayed before it */
export function pieceOf(value: Json, host: string, isFirst: boolean): Output {
  const output = outputOf(value, host, isFirst);
  return output.kind === "link" ? { kind: "text", text: output.text } : output;
}

/**
 * @param host host of the page
 * @param isFirst whether nothing was displayed before it: some streams repeat the whole text at the end
 */
export function outputOf(value: Json, host: string, isFirst = true): Output {
  if (isText(value)) return textOutput(value, host);
  if (isShortList(value)) return { kind: "list", items: value };
  const vectors = embeddingsIn(value);
  if (vectors) return { kind: "embeddings", vectors, value };
  const pictures = picturesIn(value);
  if (pictures) return { kind: "list", items: pictures };
  const text = messageText(value, isFirst);
  return text === undefined ? { kind: "json", value } : { kind: "text", text };
}

/** Longer ones are trees, of which a page has the beginning. */
const MAX_LISTED = 500;

const isShortList = (value: Json): value is string[] =>
  Array.isArray(value) && value.length > 0 && value.length <= MAX_LISTED && value.every(isText);

/** A number that has kept its digits is a string, too. */
const isText = (value: Json): value is string =>
  typeof value === "string" && numberIn(value) === undefined;

const MAX_ADDRESS = 2_048;

/** Never SVG, which is a document. */
const PICTURE = /^image\/(?:png|jpeg|gif|webp|avif)(?: *;|$)/i;

function isPicture(text: string): boolean {
  const head = dataUriHead(text);
  return head !== undefined && PICTURE.test(head.mime_type) && BASE64.test(text.slice(head.length));
}

const BASE64 = /^[A-Za-z0-9+/]+=*$/;

function textOutput(text: string, host: string): Output {
  if (isPicture(text)) return { kind: "image", address: text, name: "Image" };
  if (text.length > MAX_ADDRESS || !/^https?:\/\/\S+$/.test(text) || !URL.canParse(text))
    return { kind: "text", text };
  const url = new URL(text);
  const [, share, name] =
    /^\/(?:v1|shared\/(\w+))\/files\/[\w-]+\/([\w.-]+)$/.exec(url.pathname) ?? [];
  if (url.host !== host || name === undefined) return { kind: "link", address: url.href, text };
  // An expired link would lead nowhere. Those of a share end with it.
  if (share === undefined && Number(url.searchParams.get("expires")) * 1000 < Date.now())
    return { kind: "text", text };
  const extension = name.split(".").at(-1)?.toLowerCase() ?? "";
  return { kind: MEDIA[extension] ?? "file", address: url.pathname + url.search, name };
}

function kinds<Kind extends string>(kind: Kind, extensions: string): Record<string, Kind> {
  return Object.fromEntries(extensions.split(" ").map((extension) => [extension, kind]));
}
