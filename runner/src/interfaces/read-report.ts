/**
 * Reads a container's report as a stream. Large files, which are base64 inside the JSON, go
 * straight to disk: in memory they are replaced by their URLs.
 */
import type { Readable } from "node:stream";
import { dataUriHead, MAX_HEAD } from "../../../src/domain/files/data-uri.ts";
import type { SaveFile } from "../files/output-queue.ts";
import { external } from "../lib/failure.ts";

export interface ReportOptions {
  /** The limit of bytes without the files that are stored. */
  maxBytes: number;
  /** Undefined if files are not recognized. */
  saveFile: SaveFile | undefined;
  /** Gets the number of bytes read so far and may delay reading more. */
  backpressure: (size: number) => Promise<void>;
}

/** `"` and `\`. */
const [QUOTE, ESCAPE] = [0x22, 0x5c];
/** The size up to which a file stays inline. */
export const INLINE_BYTES = 64 * 1024;
const PREFIX = "data:";

/** Returns undefined if there are more than `maxBytes`, and then closes the connection. */
export async function readReport(
  message: Readable,
  { maxBytes, saveFile, backpressure }: ReportOptions,
): Promise<string | undefined> {
  const source = new Source(message, backpressure);
  const parts: Buffer[] = [];
  let size = 0;
  const put = (bytes: Buffer) => {
    size += bytes.length;
    parts.push(bytes);
  };
  try {
    for (let inside = false; size <= maxBytes && (await source.has(1)); ) {
      const type = inside && saveFile ? await fileAhead(source) : undefined;
      if (type && saveFile) put(Buffer.from(await saveFile(decoded(source), type)));
      else
        inside = inside ? await copyText(source, put, () => size <= maxBytes) : copy(source, put);
    }
  } finally {
    if (size > maxBytes) message.destroy();
  }
  return size > maxBytes ? undefined : Buffer.concat(parts).toString();
}

/** Copies up to the start of a string. @returns whether there is a string */
function copy(source: Source, put: (bytes: Buffer) => void): boolean {
  const at = source.buffer.indexOf(QUOTE);
  put(source.take(at < 0 ? source.buffer.length : at + 1));
  return at >= 0;
}

/** Copies the rest of a string. @returns whether it continues, because `going` ended the copy */
async function copyText(
  source: Source,
  put: (bytes: Buffer) => void,
  going: () => boolean,
): Promise<boolean> {
  for (let escaped = false; going() && (await source.has(1)); ) {
    const { buffer } = source;
    for (let at = 0; at < buffer.length; at++) {
      if (escaped) escaped = false;
      else if (buffer[at] === ESCAPE) escaped = true;
      else if (buffer[at] === QUOTE) {
        put(source.take(at + 1));
        return false;
      }
    }
    put(source.take(buffer.length));
  }
  return true;
}

/** The media type of a large file that starts here; its header is consumed. */
async function fileAhead(source: Source): Promise<string | undefined> {
  await source.has(PREFIX.length);
  if (source.buffer.toString("latin1", 0, PREFIX.length).toLowerCase() !== PREFIX) return undefined;
  await source.has(MAX_HEAD);
  const head = dataUriHead(source.buffer.toString("latin1", 0, MAX_HEAD));
  if (!head || !(await source.has(INLINE_BYTES))) return undefined;
  if (source.buffer.subarray(0, INLINE_BYTES).includes(QUOTE)) return undefined;
  source.take(head.length);
  return head.mime_type;
}

/** The decoded bytes up to the end of the string, which is not consumed. */
async function* decoded(source: Source): AsyncGenerator<Buffer> {
  for (let ended = false; !ended; ) {
    // Four characters encode three bytes.
    const isMore = await source.has(4);
    const at = source.buffer.indexOf(QUOTE);
    ended = at >= 0;
    if (!ended && !isMore) throw new Error("the report ends inside a file");
    const text = source.take(ended ? at : source.buffer.length & ~3).toString("latin1");
    const bytes = Buffer.from(text, "base64");
    // The decoder skips invalid characters, so compare with the re-encoded bytes.
    if (bytes.toString("base64") !== text)
      throw external("a file in the output is not valid base64");
    if (bytes.length > 0) yield bytes;
  }
}

/** A reader of the report; `buffer` holds bytes that were read and not consumed yet. */
class Source {
  buffer: Buffer = Buffer.alloc(0);
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #backpressure: (size: number) => Promise<void>;
  #read = 0;

  constructor(message: AsyncIterable<Buffer>, holds: (size: number) => Promise<void>) {
    this.#chunks = message[Symbol.asyncIterator]();
    this.#backpressure = holds;
  }

  /** Waits for this many bytes. @returns false if the stream ends before */
  async has(count: number): Promise<boolean> {
    const parts = [this.buffer];
    let size = this.buffer.length;
    while (size < count) {
      const { done, value } = await this.#chunks.next();
      if (done) break;
      this.#read += value.length;
      await this.#backpressure(this.#read);
      parts.push(value);
      size += value.length;
    }
    if (parts.length > 1) this.buffer = Buffer.concat(parts);
    return size >= count;
  }

  take(count: number): Buffer {
    const taken = this.buffer.subarray(0, count);
    this.buffer = this.buffer.subarray(count);
    return taken;
  }
}
