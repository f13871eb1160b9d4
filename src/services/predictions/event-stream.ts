/** Streams of events on their way to who reads them. */
import { settlesWithin } from "../../lib/timeout.ts";

/** As whoever counts one sees it, and ends it when its reader may read no more. */
export interface EventStream {
  body: ReadableStream<Uint8Array>;
  /** Resolves when it has ended, or its reader has left. */
  over: Promise<void>;
  /** Ends it between two of its events, with these words of its own form. */
  end(words: string): Promise<void>;
}

/** How long a stream that was told to end may go on, for its reader to take what was said before. */
const ENDING_MS = 1_000;

/**
 * Handed on by the platform itself: JavaScript that is run for each chunk of each reader halves
 * what an isolate gets through.
 * @param end asks the source to end it with last words
 */
export function piped(
  source: ReadableStream<Uint8Array>,
  end: (words: string) => Promise<void>,
): EventStream {
  const { readable, writable } = new IdentityTransformStream();
  const cut = new AbortController();
  const over = source.pipeTo(writable, { signal: cut.signal }).catch(() => {});
  return {
    body: readable,
    over,
    async end(words) {
      const ending = end(words).then(() => over);
      // A source that does not answer, or a reader that takes nothing: it is broken off.
      await settlesWithin(ending, ENDING_MS).catch(() => {});
      cut.abort();
    },
  };
}
