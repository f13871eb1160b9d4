/**
 * How a value is displayed: as text, image, link or tree; on the server and in the browser. Files of
 * other hosts are linked, never loaded.
 */
import { dataUriHead } from "../../domain/files/data-uri.ts";
import { messageText } from "../../domain/predictions/output-text.ts";
import { numberIn } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import { embeddingsIn, type Vector } from "./embeddings.ts";

export type Output =
  | { kind: "text"; text: string }
  | { kind: "image" | "audio" | "video" | "file"; address: string; name: string }
  /** @property text the URL verbatim; `address` is normalized */
  | { kind: "link"; address: string; text: string }
  | { kind: "list"; items: string[] }
  /** @property value that they are in */
  | { kind: "embeddings"; vectors: Vector[]; value: Json }
  | { kind: "json"; value: Json };

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
  host: string;
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
function picturesIn(value: Json): string[] | undefined {
  if (!isObject(value) || !Array.isArray(value.data) || value.data.length === 0) return undefined;
  const addresses = value.data.map((one) => (isObject(one) ? addressIn(one) : undefined));
  return addresses.every((one) => one !== undefined) ? addresses : undefined;
}

function addressIn(picture: { [name: string]: Json }): string | undefined {
  const { url, b64_json, ...others } = picture;
  if (Object.keys(others).length > 0) return undefined;
  return pictureIn(picture) ?? (typeof url === "string" ? url : undefined);
}

export interface Message {
  role: string;
  text: string;
  /** Kinds of the parts that are no text: `image`, `tool call: weather`. */
  others: string[];
}

/** @returns undefined for what is no list of messages */
export function messagesIn(value: Json): Message[] | undefined {
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const messages: Message[] = [];
  for (const one of value) {
    const message = messageOf(one);
    if (!message) return undefined;
    messages.push(message);
  }
  return messages;
}

function messageOf(value: Json): Message | undefined {
  if (!isObject(value) || typeof value.role !== "string" || !("content" in value)) return undefined;
  const { role, content, tool_calls } = value;
  const parts = typeof content === "string" ? [content] : (content ?? []);
  if (!Array.isArray(parts)) return undefined;
  const calls = Array.isArray(tool_calls) ? tool_calls : [];
  return {
    role,
    text: parts.map(textOf).filter(Boolean).join("\n"),
    others: [
      ...parts.filter((part) => textOf(part) === undefined).map(kindOf),
      ...calls.map((call) => `tool call${nameOf(isObject(call) ? call.function : null)}`),
    ],
  };
}

function textOf(part: Json): string | undefined {
  const text = isObject(part) ? part.text : part;
  return typeof text === "string" ? text : undefined;
}

/** `image_url`, `input_image` and `image` are the same to a reader. */
function kindOf(part: Json): string {
  const type = isObject(part) && typeof part.type === "string" ? part.type : "part";
  return `${type.replace(/^input_|_url$/g, "").replaceAll("_", " ")}${nameOf(part)}`;
}

const nameOf = (value: Json | undefined) =>
  isObject(value) && typeof value.name === "string" ? `: ${value.name}` : "";
