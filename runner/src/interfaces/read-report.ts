/**
 * A report of a container as it comes. Its large files, which are base64 inside the JSON, go
 * straight to disk: what is left of it in memory has addresses in their place.
 */
import type { Readable } from "node:stream";
import { createUpload } from "../../../src/protocol/upload.ts";
import { external } from "../containers/failure.ts";

/** Takes a file; returns what to call it in the report. */
export type SaveFile = (content: AsyncIterable<Uint8Array>, mimeType: string) => Promise<string>;

export interface ReportOptions {
  /** Bytes, without the files that are kept. */
  maxBytes: number;
  /** Absent: what looks like a file is text. */
  saveFile: SaveFile | undefined;
  /** Told how much has come, and may hold up what comes after it. */
  backpressure: (size: number) => Promise<void>;
}

/** `"` and `\`. */
const [QUOTE, ESCAPE] = [0x22, 0x5c];
/** Bytes in which a file says what it is, and those of one that stays where it is. */
const MAX_HEAD_BYTES = 300;
const INLINE_BYTES = 64 * 1024;
const PREFIX = "data:";
const HEAD = /^data:([^",\\]+);base64,/i;

/** Undefined, and the connection gone, when there is more than `max`. */
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

/** Up to a string's begin; whether there is one. */
function copy(source: Source, put: (bytes: Buffer) => void): boolean {
  const at = source.buffer.indexOf(QUOTE);
  put(source.take(at < 0 ? source.buffer.length : at + 1));
  return at >= 0;
}

/** The rest of a string with its end, and whether it goes on where `going` has ended it. */
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

/** The media type of a large file that begins here; its head has been taken then. */
async function fileAhead(source: Source): Promise<string | undefined> {
  await source.has(PREFIX.length);
  if (source.buffer.toString("latin1", 0, PREFIX.length).toLowerCase() !== PREFIX) return undefined;
  await source.has(MAX_HEAD_BYTES);
  const [head = "", type] = HEAD.exec(source.buffer.toString("latin1", 0, MAX_HEAD_BYTES)) ?? [];
  const mimeType = createUpload.shape.mime_type.safeParse(type);
  if (!mimeType.success || !(await source.has(INLINE_BYTES))) return undefined;
  if (source.buffer.subarray(0, INLINE_BYTES).includes(QUOTE)) return undefined;
  source.take(head.length);
  return mimeType.data;
}

/** The bytes up to the string's end, which stays. */
async function* decoded(source: Source): AsyncGenerator<Buffer> {
  for (let ended = false; !ended; ) {
    // Four characters are three bytes.
    const isMore = await source.has(4);
    const at = source.buffer.indexOf(QUOTE);
    ended = at >= 0;
    if (!ended && !isMore) throw new Error("the report is cut off inside a file");
    const text = source.take(ended ? at : source.buffer.length & ~3).toString("latin1");
    const bytes = Buffer.from(text, "base64");
    // The decoder passes over what it does not know: only what comes out again is base64.
    if (bytes.toString("base64") !== text) throw external("a file in the output is not base64");
    if (bytes.length > 0) yield bytes;
  }
}

/** What has come and is not taken yet. */
class Source {
  buffer: Buffer = Buffer.alloc(0);
  readonly #chunks: AsyncIterator<Buffer>;
  readonly #backpressure: (size: number) => Promise<void>;
  #read = 0;

  constructor(message: AsyncIterable<Buffer>, holds: (size: number) => Promise<void>) {
    this.#chunks = message[Symbol.asyncIterator]();
    this.#backpressure = holds;
  }

  /** Waits until so many bytes are there; false when there are not as many any more. */
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
