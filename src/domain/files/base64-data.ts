/** Finds long base64 in JSON before it is parsed: messages have files as base64 in a property `data`. */
import { BACKSLASH, base64In, COLON, QUOTE, withoutSpaces } from "./json-bytes.ts";

export interface Base64Data {
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
