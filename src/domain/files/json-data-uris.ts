/**
 * Finds long data URIs in JSON before it is parsed. As text they would be in memory several times: as the
 * body, as a value, as JSON again, and twice as large next to a character that is not Latin-1.
 */
import { dataUri, dataUriHead, MAX_HEAD } from "./data-uri.ts";
import { BACKSLASH, base64In, COLON, QUOTE, withoutSpaces } from "./json-bytes.ts";

/**
 * The length from which a data URI is taken out. A conversation of 10,000,000 characters then has fewer of
 * them than an input may have files. A shorter one is not worth two more requests to R2.
 */
export const LONG_DATA_URI = 128 * 1024;

export interface DataUri {
  /** The place of the string, including the quotation marks. */
  from: number;
  to: number;
  mime_type: string;
  content: Uint8Array<ArrayBuffer>;
}

const decoder = new TextDecoder();
/**
 * The beginning of a data URI. Others, such as in upper case, are not taken out, since they could not be
 * written again exactly as they were.
 */
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
