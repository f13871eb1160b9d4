/** NaN and Infinity in a container's answer: Python writes them into JSON, which has neither. */
import { randomUUID } from "node:crypto";
import { stringEnd } from "../../../src/lib/json.ts";

const QUOTE_OR_NUMBER = /"|-?(?:NaN|Infinity)/g;

export interface NonFinite {
  /** The text as JSON, with null in place of these numbers. */
  text: string;
  /** The first such number; `place` is its path, such as `output[0].score`. */
  number: string;
  place: string;
}

/** Returns undefined if there are no such numbers, or the text is no JSON for another reason. */
export function nonFiniteNumbers(text: string): NonFinite | undefined {
  const first = randomUUID();
  const parts: string[] = [];
  let number: string | undefined;
  let from = 0;
  for (let at = 0; ; ) {
    QUOTE_OR_NUMBER.lastIndex = at;
    const found = QUOTE_OR_NUMBER.exec(text);
    if (!found) break;
    const [mark] = found;
    if (mark === '"') {
      at = stringEnd(text, found.index + 1);
      continue;
    }
    parts.push(text.slice(from, found.index), number === undefined ? `"${first}"` : "null");
    number ??= mark;
    at = from = found.index + mark.length;
  }
  if (number === undefined) return undefined;
  const json = parts.join("") + text.slice(from);
  try {
    const place = placeOf(JSON.parse(json), first);
    return { text: json.replace(`"${first}"`, "null"), number, place: place?.slice(1) ?? "report" };
  } catch {
    return undefined;
  }
}

/** Returns the message about the number for the model's publisher. */
export const nonFiniteText = ({ number, place }: NonFinite): string =>
  `the model returned ${number} in ${place}, which JSON has no number for: return null or a string instead`;

function placeOf(value: unknown, wanted: string): string | undefined {
  if (value === wanted) return "";
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, part] of Object.entries(value)) {
    const place = placeOf(part, wanted);
    if (place !== undefined) return `${Array.isArray(value) ? `[${name}]` : `.${name}`}${place}`;
  }
  return undefined;
}
