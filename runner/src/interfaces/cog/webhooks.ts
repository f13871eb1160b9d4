/**
 * Receives the reports of Cog containers: one path per run. A report must also carry the token of
 * the run's container, so that no container can report for another.
 *
 * A report may be large, and is in memory as bytes, text and values. So the reports of one run are
 * read one at a time, and so are the large ones of all runs; the others wait unread in their
 * sockets.
 */
import { timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import type { Readable } from "node:stream";
import { dataUriHead, MAX_HEAD } from "../../../../src/domain/files/data-uri.ts";
import { external, Failure } from "../../../../src/run/failure.ts";
import type { SaveFile } from "../../files/output-queue.ts";
import { type CallbackServer, type Endpoint, refuse } from "../../lib/callback-server.ts";
import { readBytes } from "../../lib/http-client.ts";
import { Mutex } from "../../lib/mutex.ts";
import { MEGABYTE, ReadTurn, TURN_MS } from "../large-reads.ts";

/** Cog 0.17 and later does not wait for one report before it sends the next. */
const MAX_WAITING = 16;

export interface TurnTimes {
  /**
   * The wait for the first turn. Cog up to 0.16 does nothing else meanwhile; it sends a final report again.
   */
  waitMs: number;
  /** A turn, in which a megabyte or the rest must arrive. */
  turnMs: number;
}

const TIMES: TurnTimes = { waitMs: 5_000, turnMs: TURN_MS };

export interface WebhookRun {
  token: string;
  maxBytes: number;
  /**
   * Stores large files of the report, which do not count toward `maxBytes`; undefined if reports have no
   * files.
   */
  saveFile: SaveFile | undefined;
  report(body: string): void;
  /** Called if a file could not be stored. */
  fail(failure: Failure): void;
  /** Called if the container sent something invalid. */
  distrust(what: string): void;
}

export interface WebhookEndpoint extends Endpoint {
  /** Whether a report is waiting or being read. The duration of that says nothing about the container. */
  readonly isReceiving: boolean;
  /** How many reports have arrived, read or rejected. */
  readonly count: number;
}

export class CogWebhooks {
  readonly #server: CallbackServer;
  readonly #times: TurnTimes;
  readonly #large = new Mutex();

  constructor(server: CallbackServer, times = TIMES) {
    this.#server = server;
    this.#times = times;
  }

  /** Opens a path for one run. */
  expect(run: WebhookRun): WebhookEndpoint {
    const mutex = new Mutex();
    const closed = new AbortController();
    let count = 0;
    const { url, close } = this.#server.open(async (request, response, rest) => {
      if (rest !== "" || request.method !== "POST" || !isBearer(request, run.token)) {
        return refuse(request, response, 404);
      }
      count += 1;
      // A report without a content length may be of any size.
      const length = Number(request.headers["content-length"] ?? run.maxBytes);
      if (!run.saveFile && length > run.maxBytes) {
        refuse(request, response, 413);
        return run.distrust(TOO_LARGE);
      }
      if (mutex.length === MAX_WAITING) return refuse(request, response, 503);
      const isLarge = length > MEGABYTE;
      // The signal is made only if the report may wait: most need not, and its timer goes on after its use.
      const mayWait = isLarge || mutex.length > 0;
      const wait = mayWait
        ? AbortSignal.any([closed.signal, AbortSignal.timeout(this.#times.waitMs)])
        : closed.signal;
      const turn = new ReadTurn({
        mutex: isLarge ? this.#large : new Mutex(),
        turnMs: this.#times.turnMs,
        end: closed.signal,
        onStalled: () => this.#giveUp(request, run),
      });
      try {
        await mutex.run(wait, async () => {
          await turn.begin(wait);
          const body = await readBody(request, length, run, turn);
          if (body === undefined) return run.distrust(TOO_LARGE);
          // Respond before the report is processed: Cog up to 0.16 cannot cancel until it has the
          // response.
          response.writeHead(200).end();
          run.report(body);
        });
      } catch (error) {
        if (error instanceof Failure) run.fail(error);
        else if (error !== wait.reason) throw error;
        refuse(request, response, 503);
      } finally {
        turn.end();
      }
    });
    return {
      url,
      close() {
        close();
        if (mutex.length > 0) closed.abort(CLOSED);
      },
      get isReceiving() {
        return mutex.length > 0;
      },
      get count() {
        return count;
      },
    };
  }

  #giveUp(request: IncomingMessage, run: WebhookRun): void {
    request.destroy();
    run.distrust(`less than 1 MB of a report in ${this.#times.turnMs / 1_000} s`);
  }
}

/** Returns undefined if the body is too large. */
function readBody(
  request: IncomingMessage,
  length: number,
  { maxBytes, saveFile }: WebhookRun,
  turn: ReadTurn,
): Promise<string | undefined> {
  // The body is too short to have a file that is stored.
  if (length <= INLINE_BYTES)
    return readBytes(request, maxBytes).then((bytes) => bytes?.toString());
  const backpressure = (size: number) => turn.progress(size);
  return readReport(request, { maxBytes, saveFile, backpressure });
}

const TOO_LARGE = "a report that exceeds the limits of output and logs";
/** The explicit reason avoids the default one, which captures a stack trace. */
const CLOSED = "closed";

export function isBearer({ headers }: IncomingMessage, token: string): boolean {
  const given = Buffer.from(headers.authorization ?? "");
  const expected = Buffer.from(`Bearer ${token}`);
  return given.length === expected.length && timingSafeEqual(given, expected);
}

interface ReportOptions {
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
const INLINE_BYTES = 64 * 1024;
const PREFIX = "data:";

/**
 * Reads a container's report as a stream. Large files, which are base64 inside the JSON, go
 * straight to disk: in memory they are replaced by their URLs.
 * Returns undefined if there are more than `maxBytes`, and then closes the connection.
 */
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
