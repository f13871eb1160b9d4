/**
 * What a value is to its reader: text, a picture, a link, a tree. For the server's pages and for
 * the browser. What is not of this deployment is never loaded, only named.
 */
import type { Json } from "../../protocol/common.ts";
import { messageText } from "./message-text.ts";

export type OutputKind =
  | { as: "text"; text: string }
  | { as: "image" | "audio" | "video" | "file"; address: string; name: string }
  /** @property text as it was given, which need not be how the address is written in full */
  | { as: "link"; address: string; text: string }
  /** Each is shown by itself. */
  | { as: "list"; items: string[] }
  | { as: "json"; value: Json };

/** What is at an address, or leads there. */
export type Linked = Exclude<OutputKind, { as: "text" | "list" | "json" }>;

export const isLinked = (found: OutputKind): found is Linked => "address" in found;

const MEDIA: Record<string, "image" | "audio" | "video"> = {
  ...kinds("image", "png jpg jpeg gif webp avif bmp"),
  ...kinds("audio", "mp3 wav ogg oga opus flac m4a aac"),
  ...kinds("video", "mp4 webm mov m4v ogv"),
};

/**
 * Pieces in their order, texts that belong together as one. Of a text that comes, or came, in
 * pieces none is a link: what looks like an address may be the beginning of a word.
 */
export function shownPieces(values: Json[], { display, host, whole }: Pieces): OutputKind[] {
  const all: OutputKind[] = [];
  // Texts with their pieces: to append to a string as often as there are pieces takes too long.
  let texts: string[] = [];
  const flush = () => {
    if (texts.length > 0) all.push({ as: "text", text: texts.join("") });
    texts = [];
  };
  const linked = display === "list" || (whole && values.length === 1);
  for (const value of values) {
    const isFirst = all.length === 0 && texts.length === 0;
    const found = linked ? outputKind(value, host, isFirst) : shownPiece(value, host, isFirst);
    if (found.as === "text" && found.text === "") continue;
    if (found.as === "text" && display === "text") texts.push(found.text);
    else {
      flush();
      all.push(found);
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
export function shownPiece(value: Json, host: string, isFirst: boolean): OutputKind {
  const found = outputKind(value, host, isFirst);
  return found.as === "link" ? { as: "text", text: found.text } : found;
}

/**
 * @param host of the page
 * @param isFirst whether nothing is shown before it: an answer is told piece by piece, and then whole
 */
export function outputKind(value: Json, host: string, isFirst = true): OutputKind {
  if (typeof value === "string") return shownText(value, host);
  if (Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === "string"))
    return { as: "list", items: value };
  const text = messageText(value, isFirst);
  return text === undefined ? { as: "json", value } : { as: "text", text };
}

const MAX_ADDRESS = 2_048;

/** A picture in itself; never an SVG, which is a document. */
const PICTURE = /^data:image\/(?:png|jpeg|gif|webp|avif);base64,[A-Za-z0-9+/]+=*$/;

function shownText(text: string, host: string): OutputKind {
  if (PICTURE.test(text)) return { as: "image", address: text, name: "Image" };
  if (text.length > MAX_ADDRESS || !/^https?:\/\/\S+$/.test(text) || !URL.canParse(text))
    return { as: "text", text };
  const url = new URL(text);
  const [, name] = /^\/v1\/files\/[\w-]+\/([\w.-]+)$/.exec(url.pathname) ?? [];
  if (url.host !== host || name === undefined) return { as: "link", address: url.href, text };
  // Nobody would be answered there.
  if (Number(url.searchParams.get("expires")) * 1000 < Date.now()) return { as: "text", text };
  const extension = name.split(".").at(-1)?.toLowerCase() ?? "";
  return { as: MEDIA[extension] ?? "file", address: url.pathname + url.search, name };
}

function kinds<Kind extends string>(kind: Kind, extensions: string): Record<string, Kind> {
  return Object.fromEntries(extensions.split(" ").map((extension) => [extension, kind]));
}
