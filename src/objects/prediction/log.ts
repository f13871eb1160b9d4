/** The event log: frames of numbered events, each one row. */
import { encodeJsonEvent } from "../../lib/sse.ts";
import type { LogEvent, StoredValue } from "../../protocol/event.ts";
import type { Entries } from "./entries.ts";

/** What is known of the log as a whole; kept in each row, so that the last one tells all. */
export interface Totals {
  /** The last attempt that reported, and the sequence number of its last frame. */
  attempt: number;
  seq: number;
  /** What it has reported: `output` events, their bytes with those of metrics, and those of its logs. */
  outputs: number;
  output_bytes: number;
  logs_bytes: number;
  /** Its other events: a row of the log has at least one output or one of these. */
  notes: number;
}

const NOTHING_REPORTED = { outputs: 0, output_bytes: 0, logs_bytes: 0, notes: 0 };
const NOTHING: Totals = { attempt: 0, seq: 0, ...NOTHING_REPORTED };

/** What an output takes that says nothing: its runner counts as much. */
const ENVELOPE = '{"event":"output","data":}'.length;

/** Characters of what a runner says of its progress that are one note. */
const NOTE_CHARS = 100;

/** An event whose data is text once and for all: it is stored, counted and sent as that. */
export interface Line {
  event: LogEvent["event"];
  json: string;
  /** What counts towards the limits: a text by its length, without what JSON escapes in it. */
  size: number;
  /** How many notes it is. */
  notes: number;
}

export const linesOf = (events: LogEvent[]): Line[] =>
  events.map((reported) => {
    const json = JSON.stringify(reported.data);
    const { event } = reported;
    return { event, json, size: sizeOf(reported, json), notes: notesIn(reported) };
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

interface Frame extends Totals {
  /** When it was written, unix ms. */
  at: number;
  events: LogEvent[];
}

/** Events as readers are sent them. */
export interface Encoded {
  /** The id of the last event in it. */
  last: number;
  bytes: Uint8Array;
}

/** An event whose value is read from R2: nobody is sent it before it is asked for. */
export interface Elsewhere {
  last: number;
  stored: StoredValue;
}

/** A JSON text in pieces: as it is, or a value that lies in R2 under this name. */
export type Piece = string | StoredValue;

/** One step of a replay ends with the frame that passes this: what a reader that lags costs. */
const PAGE_BYTES = 32 * 1024;

const encoder = new TextEncoder();

export class EventLog {
  readonly #entries: Entries;
  #totals: Totals;
  #last: number;
  /** When its last frame was written. */
  #at: number;

  private constructor(entries: Entries, last: number, totals: Totals, at: number) {
    this.#entries = entries;
    this.#last = last;
    this.#totals = totals;
    this.#at = at;
  }

  /** The row that a new log begins with. */
  static firstFrame(events: LogEvent[]): string {
    return frameText(NOTHING, linesOf(events), Date.now());
  }

  /** The log that consists of that row. */
  static first(entries: Entries, events: LogEvent[]): EventLog {
    return new EventLog(entries, events.length, NOTHING, 0);
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

  get totals(): Readonly<Totals> {
    return this.#totals;
  }

  /** The last sequence number kept of an attempt. */
  seqOf(attempt: number): number {
    return this.#totals.attempt === attempt ? this.#totals.seq : 0;
  }

  /** When an attempt has last said something, unix ms; 0 when it has not yet. */
  saidAt(attempt: number): number {
    return this.#totals.attempt === attempt ? this.#at : 0;
  }

  /** What the totals will be with a frame of `lines` by this attempt. */
  totalsWith(attempt: number, seq: number, lines: Line[]): Totals {
    const next = { ...this.#totals, attempt, seq };
    // The limits are those of one attempt: its runner knows nothing of the one before.
    if (attempt !== this.#totals.attempt) Object.assign(next, NOTHING_REPORTED);
    for (const { event, size, notes } of lines) {
      next.notes += notes;
      if (event === "output" || event === "stored") {
        next.outputs += 1;
        next.output_bytes += ENVELOPE + size;
      } else if (event === "metrics") next.output_bytes += size;
      else if (event === "logs" || event === "setup") next.logs_bytes += size;
    }
    return next;
  }

  /** Appends one row; gives what subscribers are sent, unless a part of it lies elsewhere. */
  append(lines: Line[], totals: Totals = this.#totals): Encoded | undefined {
    const first = this.#last + 1;
    this.#at = Date.now();
    this.#entries.append(first, frameText(totals, lines, this.#at));
    this.#totals = totals;
    this.#last = first + lines.length - 1;
    if (lines.some(({ event }) => event === "stored")) return undefined;
    return { last: this.#last, bytes: encoder.encode(encode(first, lines)) };
  }

  /** The row that says where a log has ended of which nothing else is left. */
  closing(): string {
    return frameText(this.#totals, [], Date.now());
  }

  /** The next step of a replay after the event `after`; undefined at the end of the log. */
  page(after: number): Encoded | Elsewhere | undefined {
    if (after >= this.#last) return undefined;
    let text = "";
    let last = after;
    for (const { id, body } of this.#entries.frames(after + 1)) {
      const { events }: Frame = JSON.parse(body);
      const ahead = events.slice(Math.max(0, after + 1 - id));
      const stored = ahead.find((one) => one.event === "stored");
      const inline = stored ? ahead.slice(0, ahead.indexOf(stored)) : ahead;
      text += encode(last + 1, linesOf(inline));
      last += inline.length;
      if (stored && text === "") return { last: last + 1, stored: stored.data };
      if (stored || text.length >= PAGE_BYTES) break;
    }
    return { last, bytes: encoder.encode(text) };
  }

  /** Every frame of the log; consume it without an await in between. */
  *written(): Generator<Pick<Frame, "at" | "attempt" | "events">> {
    for (const { body } of this.#entries.frames(1)) yield JSON.parse(body);
  }

  /** The values of one attempt's outputs, after the event `after` and up to the event `last`. */
  outputs(attempt: number, last: number, after = 0): Piece[] {
    const found: Piece[] = [];
    for (const { id, body } of this.#entries.frames(after + 1)) {
      if (id > last) break;
      const frame: Frame = JSON.parse(body);
      if (frame.attempt !== attempt) continue;
      for (const one of frame.events.slice(Math.max(0, after + 1 - id), last - id + 1)) {
        if (one.event === "output") found.push(JSON.stringify(one.data));
        else if (one.event === "stored") found.push(one.data);
      }
    }
    return found;
  }
}

const encode = (first: number, lines: Line[]) =>
  lines.map(({ event, json }, n) => encodeJsonEvent(first + n, event, json)).join("");

/** A Frame as JSON text, of texts that are there already. */
function frameText(totals: Totals, lines: Line[], at: number): string {
  const events = lines.map(({ event, json }) => `{"event":"${event}","data":${json}}`);
  return `${JSON.stringify(totals).slice(0, -1)},"at":${at},"events":[${events.join(",")}]}`;
}
