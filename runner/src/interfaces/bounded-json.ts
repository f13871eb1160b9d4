/** JSON of containers, counted before it is parsed: a runner works for others beside them. */
import { passedBound } from "../../../src/lib/json-scan.ts";
import { OUTPUT_BOUNDS } from "../../../src/protocol/channel.ts";
import { Failure } from "../containers/failure.ts";

const { depth, values } = OUTPUT_BOUNDS;

/** A container has answered, with too much. */
export class Excess extends Failure {}

/** What is not even to be parsed; undefined for what may be. */
export function excessOf(text: string): Excess | undefined {
  const passed = passedBound(text, OUTPUT_BOUNDS);
  if (!passed) return undefined;
  const most = passed === "depth" ? `${depth} levels of lists and objects` : `${values} values`;
  return new Excess("external", `the container answered with more than ${most}`);
}

/** @throws SyntaxError, Excess */
export function parseJson(text: string): unknown {
  const excess = excessOf(text);
  if (excess) throw excess;
  return JSON.parse(text);
}
