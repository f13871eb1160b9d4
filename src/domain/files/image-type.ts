/** Detects the type of an image from its first bytes; names and headers cannot be trusted. */

/** @returns undefined unless it is a PNG, JPEG, WebP or GIF. SVG is excluded: it can contain scripts. */
export function imageTypeOf(bytes: Uint8Array): string | undefined {
  // One character per byte: TextDecoder's latin1 is windows-1252, which maps 0x89 to another one.
  const beginning = String.fromCharCode(...bytes.subarray(0, 12));
  if (beginning.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (beginning.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (/^GIF8[79]a/.test(beginning)) return "image/gif";
  // Four bytes of length are in between.
  if (/^RIFF.{4}WEBP$/s.test(beginning)) return "image/webp";
  return undefined;
}
