/** Streams end with what lets somebody read them: a token that is revoked, a session that is ended. */
import type { EventStream } from "../services/event-stream.ts";

const CHECK_MS = 5_000;
/** Of a check that others have made so short a time ago no other is made: CHECK_MS and this are less than 10 s. */
export const CHECKED_MS = 4_000;

/**
 * Looks at it every CHECK_MS for as long as it lasts: never for one of its events.
 * @param check the last words, once nobody may read on
 */
export async function endsWith(
  stream: EventStream,
  check: () => Promise<string | undefined>,
): Promise<void> {
  let look = () => {};
  const timer = setInterval(() => look(), CHECK_MS);
  const over = stream.over.then(() => clearInterval(timer));
  for (;;) {
    const due = new Promise<true>((resolve) => {
      look = () => resolve(true);
    });
    if (!(await Promise.race([over, due]))) return;
    const words = await check();
    if (words === undefined) continue;
    clearInterval(timer);
    return stream.end(words);
  }
}
