/** JSON text of an image or of a container, which may be anything. */
import { exceededBound } from "../../lib/json-scan.ts";
import type { Json } from "../../protocol/common.ts";

/** The bounds. Schemas of Cog models have a depth of 15 and some hundred values, vLLM's document 10,000. */
const BOUNDS = { depth: 64, values: 100_000 };

/** Returns undefined for a text that is not JSON, or exceeds the bounds. */
export function parseUntrusted(text: string): Json | undefined {
  try {
    return exceededBound(text, BOUNDS) ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
