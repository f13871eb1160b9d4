/**
 * JSON from containers, whose depth and number of values are checked before it is parsed, since
 * parsing affects every run of this runner.
 */

import type { z } from "zod";
import { stringEnd } from "../lib/json.ts";
import { exceededBound } from "../lib/json-scan.ts";
import { OUTPUT_BOUNDS } from "../protocol/channel.ts";
import type { Json } from "../protocol/common.ts";
import { Failure } from "./failure.ts";

const { depth, values } = OUTPUT_BOUNDS;

/** The container's answer exceeds the bounds. */
export class TooLarge extends Failure {}

/** The failure for a text that exceeds the bounds; undefined if it may be parsed. */
export function findExcess(text: string): TooLarge | undefined {
  const passed = exceededBound(text, OUTPUT_BOUNDS);
  if (!passed) return undefined;
  const limit = passed === "depth" ? `${depth} levels of nesting` : `${values} values`;
  return new TooLarge("external", `the container's response has more than ${limit}`);
}

/** @param parse a SyntaxError that it throws is thrown @throws TooLarge */
export function parseBoundedJson(text: string, parse: (text: string) => Json = JSON.parse): Json {
  const excess = findExcess(text);
  if (excess) throw excess;
  return parse(text);
}

/** Returns undefined if the text is not JSON or does not match the schema. */
export function parseAs<T extends z.ZodType>(schema: T, text: string): z.infer<T> | undefined {
  try {
    return schema.safeParse(parseBoundedJson(text)).data;
  } catch {
    return undefined;
  }
}

const QUOTE_OR_NUMBER = /"|-?(?:NaN|Infinity)/g;

interface NonFinite {
  /** The text as JSON, with null in path of these numbers. */
  text: string;
  /** The first such number; `path` is its path, such as `output[0].score`. */
  number: string;
  path: string;
}

/** Returns undefined if there are no such numbers, or the text is no JSON for another reason. */
export function nonFiniteNumbers(text: string): NonFinite | undefined {
  const first = crypto.randomUUID();
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
    const path = pathTo(JSON.parse(json), first);
    return { text: json.replace(`"${first}"`, "null"), number, path: path?.slice(1) ?? "report" };
  } catch {
    return undefined;
  }
}

/** Returns the message about the number for the model's publisher. */
export const nonFiniteText = ({ number, path }: NonFinite): string =>
  `the model returned ${number} in ${path}, which JSON has no number for. Return null or a string instead`;

function pathTo(value: unknown, wanted: string): string | undefined {
  if (value === wanted) return "";
  if (typeof value !== "object" || value === null) return undefined;
  for (const [name, part] of Object.entries(value)) {
    const path = pathTo(part, wanted);
    if (path !== undefined) return `${Array.isArray(value) ? `[${name}]` : `.${name}`}${path}`;
  }
  return undefined;
}
