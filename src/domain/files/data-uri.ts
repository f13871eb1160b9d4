/**
 * What counts as a data URI (RFC 2397), wherever one is looked for: a media type and base64, with padding and
 * without blanks. Anything else is text.
 */

/** The head ends within this many characters. */
export const MAX_HEAD = 300;

/** Commas end the head; quotes and backslashes would be escaped in JSON, where it is looked for, too. */
const HEAD = /^data:([\w.+-]+\/[\w.+-]+(?: *;[ !#-+\--[\]-~]*)?);base64,/i;

export interface DataUriHead {
  mime_type: string;
  /** Where the base64 begins. */
  length: number;
}

/** Undefined for anything else. */
export function dataUriHead(text: string): DataUriHead | undefined {
  const [head, mime_type] = HEAD.exec(text.slice(0, MAX_HEAD)) ?? [];
  return head === undefined || mime_type === undefined || mime_type.length > MAX_TYPE
    ? undefined
    : { mime_type, length: head.length };
}

/** As for uploads. */
const MAX_TYPE = 255;

export const dataUri = (mimeType: string, base64: string) => `data:${mimeType};base64,${base64}`;
