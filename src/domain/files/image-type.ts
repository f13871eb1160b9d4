/** What kind of picture some bytes are, told by how they begin: a name or a header may say anything. */

/** @returns undefined for what is no PNG, JPEG, WebP or GIF. SVG is none of them: it can hold scripts. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  // A character for each byte: TextDecoder's latin1 is windows-1252, which reads 0x89 as another.
  const beginning = String.fromCharCode(...bytes.subarray(0, 12));
  if (beginning.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (beginning.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(beginning)) return "image/gif";
  // The four bytes between are its length.
  if (/^RIFF.{4}WEBP$/s.test(beginning)) return "image/webp";
  return undefined;
}
