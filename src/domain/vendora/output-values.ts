/** What a model has put out at once, value by value. */
import type { Json } from "../../protocol/common.ts";

/**
 * A list is its items, however deep, for whether a model's list came in one or piece by piece is
 * all the same; null is nothing. Without recursion, for models may nest as they like.
 */
export function* valuesIn(output: Json): Generator<Json> {
  for (const waiting = [output]; waiting.length > 0; ) {
    const one = waiting.pop() ?? null;
    if (Array.isArray(one)) for (const part of one.toReversed()) waiting.push(part);
    else if (one !== null) yield one;
  }
}
