/**
 * What a value is to its reader: text, a picture, a link, a tree. For the server's pages and for
 * the browser. What is not of this deployment is never loaded, only named.
 */
import type { Json } from "../../protocol/common.ts";
import { messageText } from "./message-text.ts";

export type Output =
  | { kind: "text"; text: string }
  | { kind: "image" | "audio" | "video" | "file"; address: string; name: string }
  /** @property text as it was given, which need not be how the address is written in full */
  | { kind: "link"; address: string; text: string }
  /** Each is shown by itself. */
  | { kind: "list"; items: string[] }
  | { kind: "json"; value: Json };

/** What is at an address, or leads there. */
export type UrlKind = Exclude<Output, { kind: "text" | "list" | "json" }>;

export const isUrlKind = (output: Output): output is UrlKind => "address" in output;

const MEDIA: Record<string, "image" | "audio" | "video"> = {
  ...kinds("image", "png jpg jpeg gif webp avif bmp"),
  ...kinds("audio", "mp3 wav ogg oga opus flac m4a aac"),
  ...kinds("video", "mp4 webm mov m4v ogv"),
};

/**
 * Pieces in their order, texts that belong together as one. Of a text that comes, or came, in
 * pieces none is a link: what looks like an address may be the beginning of a word.
 */
export function outputsOf(values: Json[], { display, host, whole }: Pieces): Output[] {
  const all: Output[] = [];
  // Texts with their pieces: to append to a string as often as there are pieces takes too long.
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
  /** Whether texts are pieces of one, or items of a list. */
  display: "text" | "list";
  /** Of the page. */
  host: string;
  /** Whether these are all that there will be. */
  whole: boolean;
}

/** A piece of what may be a text. @param isFirst whether nothing is shown before it */
export function pieceOf(value: Json, host: string, isFirst: boolean): Output {
  const output = outputOf(value, host, isFirst);
  return output.kind === "link" ? { kind: "text", text: output.text } : output;
}

/**
 * @param host of the page
 * @param isFirst whether nothing is shown before it: an answer is told piece by piece, and then whole
 */
export function outputOf(value: Json, host: string, isFirst = true): Output {
  if (typeof value === "string") return textOutput(value, host);
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"))
    return { kind: "list", items: value };
  const text = messageText(value, isFirst);
  return text === undefined ? { kind: "json", value } : { kind: "text", text };
}

const MAX_ADDRESS = 2_048;

/** A picture in itself; never an SVG, which is a document. */
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/]+=*$/;

function textOutput(text: string, host: string): Output {
  if (PICTURE.test(text)) return { kind: "image", address: text, name: "Image" };
  if (text.length > MAX_ADDRESS || !/^https?:\/\/\S+$/.test(text) || !URL.canParse(text))
    return { kind: "text", text };
  const url = new URL(text);
  const [, name] = /^\/v1\/files\/[\w-]+\/([\w.-]+)$/.exec(url.pathname) ?? [];
  if (url.host !== host || name === undefined) return { kind: "link", address: url.href, text };
  // Nobody would be answered there.
  if (Number(url.searchParams.get("expires")) * 1000 < Date.now()) return { kind: "text", text };
  const extension = name.split(".").at(-1)?.toLowerCase() ?? "";
  return { kind: MEDIA[extension] ?? "file", address: url.pathname + url.search, name };
}

function kinds<Kind extends string>(kind: Kind, extensions: string): Record<string, Kind> {
  return Object.fromEntries(extensions.split(" ").map((extension) => [extension, kind]));
}
