/** Streams end with what lets somebody read them: a token that is revoked, a session that is ended. */
import type { EventStream } from "../services/predictions/event-stream.ts";

const CHECK_MS = 5_000;
/** Of a check that others have made so short a time ago no other is made: CHECK_MS and this are less than 10 s. */
export const RECENT_CHECK_MS = 4_000;

/**
 * Looks at it every CHECK_MS for as long as it lasts: never for one of its events.
 * @param check the last words, once nobody may read on
 */
export function endStreamWhen(stream: EventStream, check: () => Promise<string | undefined>): void {
  const timer = setInterval(async () => {
    const words = await check();
    if (words === undefined) return;
    clearInterval(timer);
    await stream.end(words);
  }, CHECK_MS);
  void stream.over.then(() => clearInterval(timer));
}
