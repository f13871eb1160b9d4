/**
 * JSON from containers, whose depth and number of values are checked before it is parsed, since
 * parsing affects every run of this runner.
 */
import type { z } from "zod";
import { exceededBound } from "../../../src/lib/json-scan.ts";
import { OUTPUT_BOUNDS } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { Failure } from "../lib/failure.ts";

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
