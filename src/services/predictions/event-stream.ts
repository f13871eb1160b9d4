/** Event streams on their way to readers. */
import { settlesWithin } from "../../lib/timeout.ts";

/** A stream that can be counted, and ended when its reader's access ends. */
export interface EventStream {
  body: ReadableStream<Uint8Array>;
  /** Resolves when it has ended or its reader has left. */
  over: Promise<void>;
  /** Ends it between two events, with these last words in the stream's own format. */
  end(words: string): Promise<void>;
}

/** How long a stream that was told to end may go on, so that its reader can take what was sent. */
const ENDING_MS = 1_000;

/**
 * Piped by the platform itself: JavaScript that runs for each chunk of each reader halves an
 * isolate's throughput.
 * @param end asks the source to end the stream with these last words
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
      // If the source does not respond, or the reader takes nothing, the stream is broken off.
      await settlesWithin(ending, ENDING_MS).catch(() => {});
      cut.abort();
    },
  };
}
