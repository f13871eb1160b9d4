/** File names in URLs and in the Content-Disposition header. */
import { isInline } from "./file-type.ts";

const MAX_CHARS = 100;
/** The longest name that people see. Its end is kept, which has the extension. */
const MAX_SHOWN_CHARS = 200;

/** Returns the name for keys and URLs: no character needs escaping. */
export function safeName(name: string): string {
  const last = name.split(/[/\\]/).at(-1) ?? "";
  const ascii = last.normalize("NFKD").replace(/\p{Mn}/gu, "");
  const plain = ascii.replace(/[^A-Za-z0-9._-]+/g, "-");
  // A name in another script is reduced to its extension, which models go by.
  const kept = plain.replace(/^[_-]+\./, "file.").replace(/^[._-]+|[.-]+$/g, "");
  if (kept.length <= MAX_CHARS) return kept || "file";
  const [extension = ""] = /\.[A-Za-z0-9]{1,10}$/.exec(kept) ?? [];
  return kept.slice(0, MAX_CHARS - extension.length) + extension;
}

/** Returns the name of a file as its sender named it, in the form that uploads have (protocol/upload.ts). */
export function shownName(sent: string): string {
  const last = sent.split(/[/\\]/).at(-1) ?? "";
  const end = last.replace(/\p{Cc}/gu, "").slice(-MAX_SHOWN_CHARS);
  // The cut may have left half of a character.
  return end.replace(/\p{Cs}/gu, "") || "file";
}

/** Returns the header Content-Disposition (RFC 6266). */
export function disposition(name: string, mimeType: string): string {
  const ascii = name.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  const exact = encodeURIComponent(name).replace(/['()*]/g, escaped);
  return `${isInline(mimeType) ? "inline" : "attachment"}; filename="${ascii}"; filename*=UTF-8''${exact}`;
}

const escaped = (character: string) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`;

/** Names, in keys and URLs, of files that come with a request. Those of outputs begin with digits. */

/** How a file came: inside the JSON, in a form, or with an earlier prediction whose input is sent again. */
type Way = "data" | "form" | "earlier";

/** @param rest the end of the name: an extension, or a hyphen and a name */
export const sentName = (way: Way, number: number, rest: string): string =>
  `${way}-${number}${rest}`;

/** Whether a file of a prediction came with its request: its name can be guessed. */
export const isSentName = (name: string): boolean => /^(?:data|form|earlier)-\d/.test(name);
