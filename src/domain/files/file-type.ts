/** The media type that a file is served with: never one that a browser executes. */

/** A single type with parameters, as a header can have it. Browsers use the last of several. */
const SINGLE_TYPE = /^[\w.+-]+\/[\w.+-]+ *(?:;[ -+\--~]*)?$/;

/** Types that a page can execute or include, under any name: `text/javascript1.5`, `text/css`. */
const EXECUTABLE = /^[^;]*(?:script|css|html|xml|xsl|wasm|multipart)/i;

/** SVG. It is safe: scripts do not run in an <img>, and opened directly it is a download. */
const SVG = /^image\/svg\+xml *(?:;|$)/i;

const OPAQUE = "application/octet-stream";

/** Types of text that name no charset, with room for one. */
const WITHOUT_CHARSET = /^text\/(?=.{0,230}$)[^;]*(?:;(?! *charset *=)[^;]*)*$/i;

/** Whether the bytes are checked for UTF-8: readers guess the charset of a text that names none. */
export const lacksCharset = (mimeType: string): boolean => WITHOUT_CHARSET.test(mimeType);

/** Returns the type of a text whose bytes are UTF-8. */
export const asUtf8 = (mimeType: string): string =>
  lacksCharset(mimeType) ? `${mimeType.replace(/[; ]+$/, "")}; charset=utf-8` : mimeType;

/** Returns the stored type, or a generic one for executable types: files share the origin. */
export const servedType = (mimeType: string): string =>
  SINGLE_TYPE.test(mimeType) && (SVG.test(mimeType) || !EXECUTABLE.test(mimeType))
    ? mimeType
    : OPAQUE;

/** Whether a tab may display it; all else is a download, so that no uploaded page runs on this origin. */
export const isInline = (mimeType: string): boolean =>
  DISPLAYABLE.test(mimeType) && servedType(mimeType) === mimeType;

const DISPLAYABLE =
  /^(?:image\/(?:png|jpeg|gif|webp|avif|bmp)|(?:audio|video)\/[\w.-]+|text\/plain|application\/json) *(?:;[^,]*)?$/i;

/** @returns undefined unless it is a PNG, JPEG, WebP, GIF or AVIF. SVG is excluded: it can contain scripts. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  // One character per byte: TextDecoder's latin1 is windows-1252, which maps 0x89 to another one.
  const beginning = String.fromCharCode(...bytes.subarray(0, 12));
  if (beginning.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (beginning.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(beginning)) return "image/gif";
  // Four bytes of length are in between.
  if (/^RIFF.{4}WEBP$/s.test(beginning)) return "image/webp";
  if (/^.{4}ftypavi[fs]$/s.test(beginning)) return "image/avif";
  return undefined;
}
