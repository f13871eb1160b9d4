/**
 * The JSON of a prediction as a stream of bytes, when it is too large for one message: texts, and between two
 * line feeds the reference to a value in R2. JSON in one line has no line feed of its own.
 */

import { OpenRequest } from "../../domain/accounts/open-requests.ts";
import { MAX_CHARS } from "../../domain/predictions/display-limits.ts";
import { LogTail } from "../../domain/predictions/log-tail.ts";
import {
  NO_MOMENTS,
  type SetupStanding,
  type Standing,
  withEvent,
  withSetupEvent,
} from "../../domain/predictions/timeline.ts";
import { holdForRequest } from "../../lib/current-request.ts";
import type { LogEvent, StoredValue } from "../../protocol/event.ts";
import { getFile, listValues, putValue, valueKey } from "../../storage/files/files.ts";
import { eventsIn } from "./log-rows.ts";
import type { PredictionRecord } from "./record.ts";
import type { ContentPiece, History, Piece } from "./rpc-types.ts";

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
      controller.error(new Error("The reader took nothing for 60 s."));
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

/**
 * Limits how many readers take large predictions at a time: each has a row of the log in memory, keeps the
 * object awake, and may be slow.
 */

/** The most reads of one account in one isolate, whose objects share 128 MB: a row takes up to 1.2 MB. */
const MAX_READS = 50;

/**
 * Counts a read of a large prediction.
 * @returns a function that ends it; undefined when the account has as many as it may
 */
export function enterContent(userId: string): (() => void) | undefined {
  const entered = OpenRequest.enter(`contents of ${userId}`, MAX_READS);
  return entered && holdForRequest(entered);
}

/** Values of a prediction that are stored in R2. */

const encoder = new TextEncoder();

/** The values that are written to R2 at a time. */
const AT_ONCE = 50;

/**
 * Whether R2 has all of these values. Null is stored in place of a missing value, at which readers would
 * break off.
 */
export async function areStored(
  files: R2Bucket,
  predictionId: string,
  names: Set<string>,
): Promise<boolean> {
  const missing = new Set([...names].map((name) => valueKey(predictionId, name)));
  for await (const page of listValues(files, predictionId))
    for (const key of page) missing.delete(key);
  const keys = [...missing];
  for (let at = 0; at < keys.length; at += AT_ONCE)
    await Promise.all(
      keys.slice(at, at + AT_ONCE).map((key) => putValue(files, key, encoder.encode("null"))),
    );
  return keys.length === 0;
}

/** @returns undefined when the value does not exist */
export async function findValue(
  files: R2Bucket,
  record: PredictionRecord | undefined,
  name: string,
): Promise<ReadableStream<Uint8Array> | undefined> {
  return record && (await getFile(files, valueKey(record.life.spec.id, name)))?.body;
}

/** @throws Error when the value does not exist, although the log names it */
export async function openValue(
  files: R2Bucket,
  record: PredictionRecord | undefined,
  name: string,
): Promise<ReadableStream<Uint8Array>> {
  const found = await findValue(files, record, name);
  if (!found) throw new Error(`the value ${name} is missing`);
  return found;
}

/** The history of a prediction for the dashboard, read from its whole log. */

/** @param hasLogs whether the lines of the log are wanted, which take longest to read */
export function historyOf(record: PredictionRecord, hasLogs: boolean): History {
  const { life, log } = record;
  const tail = new LogTail();
  const values: string[] = [];
  const progress = new Progress();
  let chars = 0;
  let omitted = 0;
  let first: StoredValue | null = null;
  for (const { at: time, attempt, events, body } of log.rows()) {
    const texts = attempt === life.outputAttempt ? eventsIn(body) : [];
    for (const [n, logEvent] of events.entries()) {
      progress.add(logEvent, time);
      if (hasLogs && logEvent.event === "logs") tail.add(logEvent.data, time);
      if (hasLogs && logEvent.event === "setup") tail.add(logEvent.data.logs ?? "", time);
      if (attempt !== life.outputAttempt) continue;
      if (logEvent.event === "stored") {
        if (values.length + omitted === 0) first = logEvent.data;
        omitted += 1;
      }
      if (logEvent.event !== "output") continue;
      const json = texts[n]?.json ?? "";
      chars += json.length;
      // Once a value is omitted, all further ones are: otherwise the values would look contiguous.
      const isShown = omitted === 0 && chars <= MAX_CHARS;
      if (isShown) values.push(json);
      else omitted += 1;
    }
  }
  tail.cut();
  const input = life.dataRemoved ? null : record.input();
  const fits = typeof input === "string" && input.length <= MAX_CHARS;
  return {
    head: JSON.stringify({ ...record.present(), data_removed: life.dataRemoved }),
    model_id: life.spec.model_id,
    canceling: life.state.cancel_requested_at !== null && !life.terminal,
    last: log.stored,
    standing: progress.standing(record),
    logs: { lines: [...tail.lines], state: tail.state },
    output: { values, omitted, first },
    input: fits ? input : null,
  };
}

/** The progress of a prediction (domain/predictions/timeline.ts), read from its whole log. */

/** Gathers from the log, event by event, how far the prediction has come. */
class Progress {
  #moments = NO_MOMENTS;
  #setup: SetupStanding | null = null;

  add(event: LogEvent, at: number): void {
    this.#moments = withEvent(this.#moments, event, at);
    this.#setup = withSetupEvent(this.#setup, event, at);
  }

  standing(record: PredictionRecord): Standing {
    const { spec, state, terminal } = record.life;
    const { attempt } = state;
    const { created_at, updated_at, status, setup_time, execution_time } = record.present();
    // The log says when the runner first reported; the runner had the job since the attempt was opened.
    const started = attempt?.started_at ? attempt.opened_at : this.#moments.started;
    return {
      times: { created_at, updated_at, status, setup_time, execution_time },
      pool: spec.hardware.pool,
      hardware: spec.hardware.identifier,
      waiting_since: state.waiting_since,
      handed_at: terminal ? null : (attempt?.opened_at ?? null),
      moments: { ...this.#moments, started },
      setup: terminal ? null : this.#setup,
    };
  }
}

export function standingOf(record: PredictionRecord): Standing {
  const progress = new Progress();
  for (const { at, events } of record.log.rows())
    for (const event of events) progress.add(event, at);
  return progress.standing(record);
}
