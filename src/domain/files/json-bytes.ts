/// <reference lib="esnext.typedarrays" />
/** JSON as bytes, before it is parsed: finds its strings, and decodes their base64. */

export const QUOTE = 0x22;
export const COLON = 0x3a;
export const BACKSLASH = 0x5c;
const SPACES: unknown[] = [0x20, 0x09, 0x0a, 0x0d];

const decoder = new TextDecoder();

/** Returns the first place from here on that is no white space. */
export function withoutSpaces(json: Uint8Array, from: number): number {
  let at = from;
  while (SPACES.includes(json[at])) at += 1;
  return at;
}

/**
 * @param text of a string in JSON: some encoders escape slashes
 * @returns undefined unless it is base64 as encoders write it: with padding, and without blanks
 */
export function base64In(text: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const base64 = decoder.decode(text).replaceAll("\\/", "/");
  try {
    const bytes = Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
    return Math.ceil(bytes.length / 3) * 4 === base64.length ? bytes : undefined;
  } catch {
    return undefined;
  }
}
