/** A task that runs again and again, one run at a time. */
import { sleep } from "../../../src/lib/timeout.ts";

/** @returns a function that ends the repetition */
export function repeat(intervalMs: number, task: () => Promise<void>): () => void {
  const end = new AbortController();
  void (async () => {
    while (await sleep(intervalMs, end.signal)) await task();
  })();
  return () => end.abort();
}
