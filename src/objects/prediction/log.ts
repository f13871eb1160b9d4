/** The event log: frames of numbered events, each one row. */
import { arrayText, objectText, objectWriter } from "../../lib/json-splice.ts";
import { encodeJsonEvent } from "../../lib/sse.ts";
import type { LogEvent, StoredValue } from "../../protocol/event.ts";
import type { Entries } from "./entries.ts";
import type { Piece } from "./rpc-types.ts";

/** Totals of the log; stored in each row, so that the last row has them. */
export interface LogTotals {
  /** The last attempt that reported, and the sequence number of its last frame. */
  attempt: number;
  seq: number;
  /** Its `output` events, their bytes with those of metrics, and the bytes of its logs. */
  outputs: number;
  output_bytes: number;
  logs_bytes: number;
  /** Its other events. They are limited because each may be a row of the log. */
  notes: number;
}

const NOTHING_REPORTED = { outputs: 0, output_bytes: 0, logs_bytes: 0, notes: 0 };
const NO_TOTALS: LogTotals = { attempt: 0, seq: 0, ...NOTHING_REPORTED };

/** The bytes of an empty output event: its runner counts them, too. */
const OUTPUT_ENVELOPE_BYTES = '{"event":"output","data":}'.length;

/** Characters of setup progress that count as one note. */
const NOTE_CHARS = 100;

/** An event whose data is encoded once, to be stored, counted and sent. */
export interface EncodedEvent {
  event: LogEvent["event"];
  json: string;
  /** What counts towards the limits: of a string its length, without JSON's escapes. */
  size: number;
  /** How many notes it counts as. */
  notes: number;
}

export const encodeEvents = (events: LogEvent[]): EncodedEvent[] =>
  events.map((logEvent) => {
    const json = JSON.stringify(logEvent.data);
    const { event } = logEvent;
    return { event, json, size: sizeOf(logEvent, json), notes: notesIn(logEvent) };
  });

function notesIn({ event, data }: LogEvent): number {
  if (event === "output" || event === "stored") return 0;
  if (event !== "setup") return 1;
  const { logs: _, ...rest } = data;
  return Math.ceil(JSON.stringify(rest).length / NOTE_CHARS);
}

function sizeOf({ event, data }: LogEvent, json: string): number {
  if (event === "stored") return data.size;
  if (event === "setup") return data.logs?.length ?? 0;
  return typeof data === "string" ? data.length : json.length;
}

interface Frame extends LogTotals {
  /** When it was written, unix ms. */
  at: number;
  events: LogEvent[];
}

/** Events as readers are sent them. */
export interface EncodedEvents {
  /** The id of the last one. */
  last: number;
  bytes: Uint8Array;
}

/** An event whose value is stored in R2, from where it is copied to each reader. */
export interface StoredEvent {
  id: number;
  stored: StoredValue;
}

/** A page of a replay ends with the frame that exceeds this: the cost of a reader that lags. */
const PAGE_BYTES = 32 * 1024;

const encoder = new TextEncoder();

export class EventLog {
  readonly #entries: Entries;
  #totals: LogTotals;
  #last: number;
  /** When the last frame was written. */
  #at: number;

  private constructor(entries: Entries, last: number, totals: LogTotals, at: number) {
    this.#entries = entries;
    this.#last = last;
    this.#totals = totals;
    this.#at = at;
  }

  /** The first row of a new log. */
  static firstFrame(events: LogEvent[]): string {
    return frameText(NO_TOTALS, encodeEvents(events), Date.now());
  }

  /** The log of that row. */
  static first(entries: Entries, events: LogEvent[]): EventLog {
    return new EventLog(entries, events.length, NO_TOTALS, 0);
  }

  static load(entries: Entries): EventLog {
    const { id, body } = entries.last();
    const { events, at, ...totals }: Frame = JSON.parse(body);
    return new EventLog(entries, id + events.length - 1, totals, at);
  }

  /** The id of the last event. */
  get last(): number {
    return this.#last;
  }

  get totals(): Readonly<LogTotals> {
    return this.#totals;
  }

  /** The sequence number of the last frame stored of an attempt; 0 if there is none. */
  seqOf(attempt: number): number {
    return this.#totals.attempt === attempt ? this.#totals.seq : 0;
  }

  /** When the last frame of an attempt was stored, unix ms; 0 if there is none. */
  lastFrameAt(attempt: number): number {
    return this.#totals.attempt === attempt ? this.#at : 0;
  }

  /** The totals with a further frame of this attempt. */
  totalsWith(attempt: number, seq: number, events: EncodedEvent[]): LogTotals {
    const next = { ...this.#totals, attempt, seq };
    // Limits apply to each attempt: its runner knows nothing of earlier ones.
    if (attempt !== this.#totals.attempt) Object.assign(next, NOTHING_REPORTED);
    for (const { event, size, notes } of events) {
      next.notes += notes;
      if (event === "output" || event === "stored") {
        next.outputs += 1;
        next.output_bytes += OUTPUT_ENVELOPE_BYTES + size;
      } else if (event === "metrics") next.output_bytes += size;
      else if (event === "logs" || event === "setup") next.logs_bytes += size;
    }
    return next;
  }

  /** Appends one row. @returns what readers are sent, unless a value of it is stored in R2 */
  append(events: EncodedEvent[], totals: LogTotals = this.#totals): EncodedEvents | undefined {
    const first = this.#last + 1;
    this.#at = Date.now();
    this.#entries.append(first, frameText(totals, events, this.#at));
    this.#totals = totals;
    this.#last = first + events.length - 1;
    if (events.some(({ event }) => event === "stored")) return undefined;
    return { last: this.#last, bytes: encoder.encode(streamText(first, events)) };
  }

  /** The row that keeps the totals of a log whose events are deleted. */
  closingFrame(): string {
    return frameText(this.#totals, [], Date.now());
  }

  /** The next page of a replay after the event `after`; undefined at the end of the log. */
  page(after: number): EncodedEvents | StoredEvent | undefined {
    if (after >= this.#last) return undefined;
    let text = "";
    let last = after;
    for (const { id, body } of this.#entries.frames(after + 1)) {
      const { events }: Frame = JSON.parse(body);
      const ahead = events.slice(Math.max(0, after + 1 - id));
      const stored = ahead.find((one) => one.event === "stored");
      const inline = stored ? ahead.slice(0, ahead.indexOf(stored)) : ahead;
      text += streamText(last + 1, encodeEvents(inline));
      last += inline.length;
      if (stored && text === "") return { id: last + 1, stored: stored.data };
      if (stored || text.length >= PAGE_BYTES) break;
    }
    return { last, bytes: encoder.encode(text) };
  }

  /** All frames; to be consumed without an await in between. */
  *frames(): Generator<Pick<Frame, "at" | "attempt" | "events">> {
    for (const { body } of this.#entries.frames(1)) yield JSON.parse(body);
  }

  /** The outputs of an attempt after the event `after`, up to the event `last`. */
  outputs(attempt: number, last: number, after = 0): Piece[] {
    const values: Piece[] = [];
    for (const { id, body } of this.#entries.frames(after + 1)) {
      if (id > last) break;
      const frame: Frame = JSON.parse(body);
      if (frame.attempt !== attempt) continue;
      for (const one of frame.events.slice(Math.max(0, after + 1 - id), last - id + 1)) {
        if (one.event === "output") values.push(JSON.stringify(one.data));
        else if (one.event === "stored") values.push(one.data);
      }
    }
    return values;
  }
}

const streamText = (first: number, events: EncodedEvent[]) =>
  events.map(({ event, json }, n) => encodeJsonEvent(first + n, event, json)).join("");

/** A Frame as JSON text. */
const frameText = (totals: LogTotals, events: EncodedEvent[], at: number): string =>
  objectText({ ...totals, at }, { events: arrayText(events.map(eventText)) });

/** By the name of the event, of which there are few. */
const eventWriters = new Map<string, (json: string) => string>();

function eventText({ event, json }: EncodedEvent): string {
  const write = eventWriters.get(event) ?? objectWriter({ event }, "data");
  eventWriters.set(event, write);
  return write(json);
}
