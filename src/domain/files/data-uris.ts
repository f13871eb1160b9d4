/// <reference lib="esnext.typedarrays" />
/**
 * Finds long data URIs in JSON before it is parsed. As text they would be in memory several times: as the
 * body, as a value, as JSON again, and twice as large beside a character that is not Latin-1.
 */
import { createUpload } from "../../protocol/upload.ts";

/**
 * Of a conversation of 10,000,000 characters fewer are taken than an input may have files. A shorter one
 * is not worth two more requests to R2.
 */
export const LONG_DATA_URI = 128 * 1024;

export interface DataUri {
  /** Where its string begins and ends, with the quotation marks. */
  from: number;
  to: number;
  mime_type: string;
  content: Uint8Array<ArrayBuffer>;
}

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACES: unknown[] = [0x20, 0x09, 0x0a, 0x0d];

const decoder = new TextDecoder();
const BEGINNING = new TextEncoder().encode("data:");
const MAX_HEAD = 300;
/** Only what can be written again exactly as it was. */
const HEAD = /^data:([^",\\]+);base64,/;

/** @param least its length; for invalid JSON what is found is arbitrary */
export function findDataUris(json: Uint8Array, least: number): DataUri[] {
  const found: DataUri[] = [];
  for (let quote = json.indexOf(QUOTE); quote >= 0; quote = json.indexOf(QUOTE, quote + 1)) {
    const begin = quote + 1;
    if (json[quote - 1] === BACKSLASH || !begins(json, begin)) continue;
    const end = json.indexOf(QUOTE, begin);
    if (end - begin < least || isName(json, end + 1)) continue;
    const uri = decoded(json.subarray(begin, end));
    if (!uri) continue;
    found.push({ from: quote, to: end + 1, ...uri });
    quote = end;
  }
  return found;
}

export const dataUri = (mimeType: string, base64: string) => `data:${mimeType};base64,${base64}`;

const begins = (json: Uint8Array, at: number) =>
  BEGINNING.every((byte, n) => json[at + n] === byte);

/** Whether the string that ends here is the name of a property. */
function isName(json: Uint8Array, end: number): boolean {
  let at = end;
  while (SPACES.includes(json[at])) at += 1;
  return json[at] === COLON;
}

function decoded(uri: Uint8Array): Pick<DataUri, "mime_type" | "content"> | undefined {
  const [head, type] = HEAD.exec(decoder.decode(uri.subarray(0, MAX_HEAD))) ?? [];
  const mimeType = createUpload.shape.mime_type.safeParse(type);
  if (head === undefined || !mimeType.success) return undefined;
  // Some encoders escape slashes.
  const base64 = decoder.decode(uri.subarray(head.length)).replaceAll("\\/", "/");
  const content = bytesOf(base64);
  return content && { mime_type: mimeType.data, content };
}

/** @returns undefined for what is not as an encoder writes it: with padding, and without blanks */
export function bytesOf(base64: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const bytes = Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
    return Math.ceil(bytes.length / 3) * 4 === base64.length ? bytes : undefined;
  } catch {
    return undefined;
  }
}
