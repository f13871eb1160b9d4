/**
 * The JSON of a prediction as a stream of bytes, for what is too large for one message: texts, and between
 * two line feeds the reference to a value in R2. JSON in one line has no line feed of its own.
 */
import type { ContentPiece, Piece } from "./rpc-types.ts";

/** Characters, or some more, that are sent at a time. */
const CHUNK_CHARS = 64 * 1024;
/** Read at a time. Otherwise the platform gives 4 KiB, and reading takes twice as long. */
const CHUNK_BYTES = 64 * 1024;
const LINE_FEED = 10;

/** Nothing is read ahead of its reader. */
export function contentStream(pieces: Iterator<Piece>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        let text = "";
        let next = pieces.next();
        for (; !next.done && text.length < CHUNK_CHARS; next = pieces.next())
          text += textOf(next.value);
        if (!next.done) text += textOf(next.value);
        if (text !== "") controller.enqueue(encoder.encode(text));
        if (next.done) controller.close();
      },
    },
    { highWaterMark: 0 },
  );
}

const textOf = (piece: Piece) =>
  typeof piece === "string" ? piece : `\n${JSON.stringify(piece)}\n`;

/** What such a stream says. */
export async function* contentPieces(
  stream: ReadableStream<Uint8Array>,
): AsyncGenerator<ContentPiece> {
  const reader = stream.getReader({ mode: "byob" });
  try {
    yield* piecesIn(reader);
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function* piecesIn(reader: ReadableStreamBYOBReader): AsyncGenerator<ContentPiece> {
  const decoder = new TextDecoder();
  let reference: string | undefined;
  for (;;) {
    const { done, value: chunk } = await reader.read(new Uint8Array(CHUNK_BYTES));
    if (done) return;
    for (let at = 0, end = 0; end >= 0; at = end + 1) {
      end = chunk.indexOf(LINE_FEED, at);
      const part = chunk.subarray(at, end < 0 ? chunk.length : end);
      if (reference !== undefined) reference += decoder.decode(part, { stream: end < 0 });
      else if (part.length > 0) yield part;
      if (end < 0) continue;
      if (reference !== undefined) yield JSON.parse(reference);
      reference = reference === undefined ? "" : undefined;
    }
  }
}
