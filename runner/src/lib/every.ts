/** Something that is done again and again, and never twice at a time. */
import { sleep } from "./wait.ts";

/** @returns what ends it */
export function repeat(milliseconds: number, task: () => Promise<void>): () => void {
  const over = new AbortController();
  void (async () => {
    while (await sleep(milliseconds, over.signal)) await task();
  })();
  return () => over.abort();
}
