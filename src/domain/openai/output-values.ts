/** The values of one output. */
import type { Json } from "../../protocol/common.ts";

/**
 * Yields the values. A list counts as its items, at any depth: it makes no difference whether a model sent
 * them at once or one by one. Null is skipped. Not recursive, because the depth is not limited.
 */
export function* valuesIn(output: Json): Generator<Json> {
  for (const waiting = [output]; waiting.length > 0; ) {
    const one = waiting.pop() ?? null;
    if (Array.isArray(one)) for (const part of one.toReversed()) waiting.push(part);
    else if (one !== null) yield one;
  }
}
