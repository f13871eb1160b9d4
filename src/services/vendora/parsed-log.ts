/** Values of a log, counted before they are parsed: what a runner stores nobody has looked into. */
import { VendoraProblem } from "../../errors-vendora.ts";
import { exceededBound } from "../../lib/json-scan.ts";
import { FRAME_BOUNDS, OUTPUT_BOUNDS } from "../../protocol/channel.ts";
import type { Json } from "../../protocol/common.ts";

/** An output, and beside it, in a whole prediction, the input. */
const BOUNDS = {
  depth: FRAME_BOUNDS.depth,
  values: OUTPUT_BOUNDS.values + FRAME_BOUNDS.values,
};

/** @throws VendoraProblem */
export function parsedLog(text: string): Json {
  if (exceededBound(text, BOUNDS)) {
    const message = "The model's output has too many values, or too many levels, to be read here.";
    throw new VendoraProblem(502, { message, type: "server_error", code: "model_error" }, false);
  }
  return JSON.parse(text);
}
