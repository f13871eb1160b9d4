/** The stream of an export in JSON Lines. */
import { withoutSeparators } from "../lib/json.ts";
import { untilAborted } from "../lib/timeout.ts";
import { logger } from "../log.ts";
import type { EventStream } from "./access/concurrency-limit.ts";

/** A line, or bytes or text of one. */
export type Piece = object | string | Uint8Array;

const LINE_FEED = 10;

const encoder = new TextEncoder();

/** Returns a stream of lines, or of parts of lines. Nothing is made ahead of its reader. */
export function exportStream(pieces: AsyncGenerator<Piece>): EventStream {
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const ending = new AbortController();
  let lastWords = "";
  let inLine = false;
  const leave = () => {
    resolve();
    // A call that is under way ends before `pieces` returns.
    pieces.return(undefined).catch(() => {});
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { signal } = ending;
        try {
          const next = signal.aborted || (await untilAborted(pieces.next(), signal));
          if (next !== true && !next.done) {
            const bytes = bytesOf(next.value);
            inLine = bytes.at(-1) !== LINE_FEED;
            return controller.enqueue(bytes);
          }
        } catch (error) {
          if (!signal.aborted) {
            logger.error("Export failed", { error });
            leave();
            // The error breaks the stream off, so that an incomplete export does not look complete.
            throw error;
          }
        }
        if (signal.aborted)
          controller.enqueue(encoder.encode(inLine ? `\n${lastWords}` : lastWords));
        controller.close();
        leave();
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
  return {
    body,
    over,
    async end(words) {
      lastWords = words;
      ending.abort();
    },
  };
}

const bytesOf = (piece: Piece): Uint8Array =>
  piece instanceof Uint8Array
    ? piece
    : encoder.encode(
        typeof piece === "string" ? piece : `${withoutSeparators(JSON.stringify(piece))}\n`,
      );
