/// <reference lib="esnext.typedarrays" />
/**
 * Finds long data URIs and base64 in JSON before it is parsed. As text they would be in memory several times: as
 * the body, as a value, as JSON again, and twice as large next to a character that is not Latin-1.
 */
import { dataUri, dataUriHead, MAX_HEAD } from "./data-uri.ts";

/** The length from which a data URI is taken out: a shorter one is not worth two requests to R2. */
export const LONG_DATA_URI = 128 * 1024;

interface DataUri {
  /** The place of the string, including the quotation marks. */
  from: number;
  to: number;
  mime_type: string;
  content: Uint8Array<ArrayBuffer>;
}

/** The beginning of a data URI. One in upper case could not be written again as it was. */
const BEGINNING = new TextEncoder().encode("data:");

/** @param least its length; the result for invalid JSON is arbitrary */
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

const begins = (json: Uint8Array, at: number) =>
  BEGINNING.every((byte, n) => json[at + n] === byte);

/** Whether the string that ends here is the name of a property. */
const isName = (json: Uint8Array, end: number): boolean => json[withoutSpaces(json, end)] === COLON;

function decoded(uri: Uint8Array): Pick<DataUri, "mime_type" | "content"> | undefined {
  const beginning = decoder.decode(uri.subarray(0, MAX_HEAD));
  const head = dataUriHead(beginning);
  if (!head || !beginning.startsWith(dataUri(head.mime_type, ""))) return undefined;
  const content = base64In(uri.subarray(head.length));
  return content && { mime_type: head.mime_type, content };
}

interface Base64Data {
  /** The place of the string, including the quotation marks. */
  from: number;
  to: number;
  content: Uint8Array<ArrayBuffer>;
}

const NAME = new TextEncoder().encode('"data"');

/** @param least its length; the result for invalid JSON is arbitrary */
export function findBase64Data(json: Uint8Array, least: number): Base64Data[] {
  const found: Base64Data[] = [];
  for (let at = json.indexOf(QUOTE); at >= 0; at = json.indexOf(QUOTE, at + 1)) {
    if (json[at - 1] === BACKSLASH || !NAME.every((byte, n) => json[at + n] === byte)) continue;
    const from = valueAfter(json, at + NAME.length);
    const end = from === undefined ? -1 : json.indexOf(QUOTE, from + 1);
    if (from === undefined || end - from <= least) continue;
    const content = base64In(json.subarray(from + 1, end));
    if (!content) continue;
    found.push({ from, to: end + 1, content });
    at = end;
  }
  return found;
}

/** Returns where the value begins of the property whose name ends here, if it is a text. */
function valueAfter(json: Uint8Array, end: number): number | undefined {
  const colon = withoutSpaces(json, end);
  if (json[colon] !== COLON) return undefined;
  const value = withoutSpaces(json, colon + 1);
  return json[value] === QUOTE ? value : undefined;
}

/// <reference lib="esnext.typedarrays" />
/** JSON as bytes, before it is parsed: finds its strings, and decodes their base64. */

const QUOTE = 0x22;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const SPACES: unknown[] = [0x20, 0x09, 0x0a, 0x0d];

const decoder = new TextDecoder();

function withoutSpaces(json: Uint8Array, from: number): number {
  let at = from;
  while (SPACES.includes(json[at])) at += 1;
  return at;
}

/** Undefined unless it is base64 with padding. @param text in JSON: some encoders escape slashes */
function base64In(text: Uint8Array): Uint8Array<ArrayBuffer> | undefined {
  const base64 = decoder.decode(text).replaceAll("\\/", "/");
  try {
    const bytes = Uint8Array.fromBase64(base64, { lastChunkHandling: "strict" });
    return Math.ceil(bytes.length / 3) * 4 === base64.length ? bytes : undefined;
  } catch {
    return undefined;
  }
}
