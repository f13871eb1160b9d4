/** Parses values of a log within bounds: values that a runner stores in R2 were never checked. */

import { OpenAiProblem } from "../../errors/openai.ts";
import { parseExact } from "../../lib/exact-json.ts";
import { exceededBound } from "../../lib/json-scan.ts";
import { FRAME_BOUNDS, OUTPUT_BOUNDS } from "../../protocol/channel.ts";
import type { Json } from "../../protocol/common.ts";

/** The bounds of a full prediction, which has an output and an input. */
const BOUNDS = {
  depth: FRAME_BOUNDS.depth,
  values: OUTPUT_BOUNDS.values + FRAME_BOUNDS.values,
};

/** @throws OpenAiProblem */
export function parsedLog(text: string, parse: (text: string) => Json = JSON.parse): Json {
  if (exceededBound(text, BOUNDS)) {
    const message = "The model's output has too many values or is nested too deeply.";
    throw new OpenAiProblem(502, { message, type: "server_error", code: "model_error" }, false);
  }
  return parse(text);
}

/**
 * Parses a value that is translated and written again, as chats are: numbers keep their digits.
 * @throws OpenAiProblem
 */
export const exactLog = (text: string): Json => parsedLog(text, parseExact);
