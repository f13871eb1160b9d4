/** Data URIs (RFC 2397): a media type and base64, with padding and without blanks. */

export const MAX_HEAD = 300;

/** The head. Commas end it; quotes and backslashes would be escaped in JSON. */
const HEAD = /^data:([\w.+-]+\/[\w.+-]+(?: *;[ !#-+\--[\]-~]*)?);base64,/i;

export interface DataUriHead {
  mime_type: string;
  /** The length of the head, after which the base64 begins. */
  length: number;
}

export function dataUriHead(text: string): DataUriHead | undefined {
  const [head, mime_type] = HEAD.exec(text.slice(0, MAX_HEAD)) ?? [];
  return head === undefined || mime_type === undefined || mime_type.length > MAX_TYPE
    ? undefined
    : { mime_type, length: head.length };
}

/** The longest type, as for uploads. */
const MAX_TYPE = 255;

export const dataUri = (mimeType: string, base64: string) => `data:${mimeType};base64,${base64}`;
