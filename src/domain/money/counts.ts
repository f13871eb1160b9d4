/** The counts of a run that its usage has. */
import { metrics } from "../../protocol/event.ts";
import { quantitiesOf } from "./quantities.ts";

export interface RunCounts {
  /** With those from a cache. */
  input_tokens: number;
  output_tokens: number;
  cached_tokens: number;
  images: number;
}

/** No run counts more. The sum of nine million runs is then a safe integer, whatever their containers say. */
const MAX_COUNT = 1_000_000_000;

/** Returns what prices count as well. Containers are untrusted, so what is too large is ignored. @param text JSON */
export function countsIn(text: string | null): RunCounts {
  const known = text === null ? undefined : metrics.safeParse(JSON.parse(text)).data;
  const { uncached, cached, output, images } = quantitiesOf(known ?? null);
  const bounded = (count: number) => (count <= MAX_COUNT ? count : 0);
  const input_tokens = bounded(uncached + cached);
  return {
    input_tokens,
    output_tokens: bounded(output),
    cached_tokens: Math.min(cached, input_tokens),
    images: bounded(images),
  };
}
