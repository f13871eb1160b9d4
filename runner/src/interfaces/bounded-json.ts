/** JSON of containers, counted before it is parsed: a runner works for others beside them. */
import { passedBound } from "../../../src/lib/json-scan.ts";
import { OUTPUT_BOUNDS } from "../../../src/protocol/channel.ts";
import type { Json } from "../../../src/protocol/common.ts";
import { Failure } from "../containers/failure.ts";

const { depth, values } = OUTPUT_BOUNDS;

/** A container has answered, with too much. */
export class TooLarge extends Failure {}

/** What is not even to be parsed; undefined for what may be. */
export function findExcess(text: string): TooLarge | undefined {
  const passed = passedBound(text, OUTPUT_BOUNDS);
  if (!passed) return undefined;
  const limit = passed === "depth" ? `${depth} levels of lists and objects` : `${values} values`;
  return new TooLarge("external", `the container answered with more than ${limit}`);
}

/** @throws SyntaxError, Excess */
export function parseBoundedJson(text: string): Json {
  const excess = findExcess(text);
  if (excess) throw excess;
  return JSON.parse(text);
}
