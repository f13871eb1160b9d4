/**
 * The JSON of a prediction as a stream of bytes, when it is too large for one message: texts, and between two
 * line feeds the reference to a value in R2. JSON in one line has no line feed of its own.
 */
import type { StoredValue } from "../../protocol/event.ts";

/** Characters, or some more, that are sent at a time. */
const CHUNK_CHARS = 64 * 1024;

/** Bytes that are read at a time. Otherwise the platform gives 4 KiB, and reading takes twice as long. */
const CHUNK_BYTES = 64 * 1024;

const LINE_FEED = 10;

/**
 * A reader that takes nothing for this long is disconnected: it would keep its place, and the object awake.
 */
const STALLED_MS = 60_000;

/**
 * Streams the pieces. Nothing is read ahead of the reader.
 * @param onEnd called once, however the stream ends
 */
export function contentStream(pieces: Iterable<Piece>, onEnd: () => void) {
  const encoder = new TextEncoder();
  const texts = textsOf(pieces);
  let timer: number | null = null;
  const end = () => {
    clearTimeout(timer);
    onEnd();
  };
  const watch = (controller: ReadableStreamDefaultController<Uint8Array>) => {
    timer = setTimeout(() => {
      controller.error(new Error("The client read nothing for 60 s."));
      end();
    }, STALLED_MS);
  };
  return new ReadableStream<Uint8Array>(
    {
      start: watch,
      pull(controller) {
        clearTimeout(timer);
        try {
          const { value, done } = texts.next();
          if (value !== undefined) controller.enqueue(encoder.encode(value));
          if (!done) return watch(controller);
          controller.close();
          end();
        } catch (error) {
          end();
          throw error;
        }
      },
      cancel: end,
    },
    { highWaterMark: 0 },
  );
}

/** Small pieces are sent together, and large ones a part at a time: a row of the log has up to 600,000. */
function* textsOf(pieces: Iterable<Piece>): Generator<string, string> {
  let text = "";
  for (const piece of pieces) {
    text += textOf(piece);
    let at = 0;
    while (text.length - at >= CHUNK_CHARS) {
      const end = wholeUpTo(text, at + CHUNK_CHARS);
      yield text.slice(at, end);
      at = end;
    }
    text = text.slice(at);
  }
  return text;
}

/** Returns the end of a part that does not split a character of two units. */
const wholeUpTo = (text: string, end: number) =>
  /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end + 1 : end;

const textOf = (piece: Piece) =>
  typeof piece === "string" ? piece : `\n${JSON.stringify(piece)}\n`;

/** Yields the pieces of such a stream. */
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

/** A JSON value: its text, or the name under which it lies in R2. */
export type Piece = string | StoredValue;

/** A piece with its text in UTF-8, which is not always a whole value. */
export type ContentPiece = Uint8Array | StoredValue;
