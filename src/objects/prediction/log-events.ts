/** Events of the log, encoded once: to be counted, stored, and sent to readers. */

import type { PredictionSpec } from "../../domain/predictions/state.ts";
import { withoutSeparators } from "../../lib/json.ts";
import { valueEnd } from "../../lib/json-text.ts";
import { encodeJsonEvent } from "../../lib/sse.ts";
import type { LogEvent, StoredValue } from "../../protocol/event.ts";

/** Characters of setup progress that count as one note. */
const NOTE_CHARS = 100;

export interface EncodedEvent {
  event: LogEvent["event"];
  json: string;
  /** Size that counts towards the limits: of a string its length, without JSON's escapes. */
  size: number;
  notes: number;
}

export interface NumberedEvent {
  id: number;
  event: LogEvent["event"];
  json: string;
}

/** Events in the form that readers get. */
export interface EncodedEvents {
  last: number;
  bytes: Uint8Array;
}

export interface ShownEvents extends EncodedEvents {
  first: number;
}

/** An event whose value is stored in R2, from where it is copied to each reader. */
export interface StoredEvent {
  id: number;
  stored: StoredValue;
}

const encoder = new TextEncoder();

/** @param texts the JSON of their data, as it came */
export const encodeEvents = (events: LogEvent[], texts?: string[]): EncodedEvent[] =>
  events.map((logEvent, n) => {
    const json = texts?.[n] ?? withoutSeparators(JSON.stringify(logEvent.data));
    const { event } = logEvent;
    return { event, json, size: sizeOf(logEvent, json), notes: notesIn(logEvent) };
  });

const [HEAD, DATA, FINISH] = ['{"event":"', '","data":', ',"finish":'];

/**
 * Returns the names and the data of events in a frame or in a row of the log, as they were written.
 * @param text without spaces between values
 * @param from where the list of events begins
 * @returns undefined where events are written in another way, such as with more members
 */
export function writtenEvents(text: string, from: number): WrittenEvent[] | undefined {
  const events: WrittenEvent[] = [];
  let at = from + 1;
  while (text.startsWith(HEAD, at)) {
    const end = text.indexOf('"', at + HEAD.length);
    const event = NAMES.get(text.slice(at + HEAD.length, end));
    if (!event || !text.startsWith(DATA, end)) return undefined;
    const to = valueEnd(text, end + DATA.length);
    if (text.charAt(to) !== "}") return undefined;
    events.push({ event, json: text.slice(end + DATA.length, to) });
    at = to + 1;
    if (text.charAt(at) === ",") at += 1;
  }
  return text.charAt(at) === "]" && hasNoOther(text, at + 1) ? events : undefined;
}

/** Whether nothing but the end of a run follows: of two lists JSON.parse takes the second. */
function hasNoOther(text: string, at: number): boolean {
  const isFinish = text.startsWith(FINISH, at);
  return (isFinish ? valueEnd(text, at + FINISH.length) : at) === text.length - 1;
}

type WrittenEvent = Pick<NumberedEvent, "event" | "json">;

const NAMES = new Map<string, LogEvent["event"]>(
  (["setup", "output", "stored", "logs", "metrics", "status", "error", "done"] as const).map(
    (name) => [name, name],
  ),
);

/** The most UTF-16 units that a row has around the value of an event. */
const ENVELOPE_UNITS = '{"event":"metrics","data":},'.length;

/** Returns the UTF-16 units that events take in a row of the log. */
export const unitsOf = (events: { json: string }[]): number =>
  events.reduce((units, { json }) => units + ENVELOPE_UNITS + json.length, 0);

/** @returns undefined when there is no event, or the value of one is stored in R2 */
export function forReaders(events: NumberedEvent[]): ShownEvents | undefined {
  const [first] = events;
  const last = events.at(-1);
  if (!first || !last || events.some(({ event }) => event === "stored")) return undefined;
  return { first: first.id, last: last.id, bytes: encoder.encode(streamText(events)) };
}

/**
 * The beginning of these events, up to `chars` characters and one event: those before the first
 * whose value is stored in R2, or that one alone.
 */
export function pageOf(
  events: Iterable<NumberedEvent>,
  chars: number,
): EncodedEvents | StoredEvent | undefined {
  let text = "";
  let last = 0;
  for (const one of events) {
    if (one.event === "stored") {
      if (text === "") return { id: one.id, stored: JSON.parse(one.json) };
      break;
    }
    text += encodeJsonEvent(one.id, one.event, one.json);
    last = one.id;
    if (text.length >= chars) break;
  }
  return text === "" ? undefined : { last, bytes: encoder.encode(text) };
}

/** Returns the text of events. Strings are added up, not joined: 20 % faster for a frame of tokens. */
function streamText(events: NumberedEvent[]): string {
  let text = "";
  for (const { id, event, json } of events) text += encodeJsonEvent(id, event, json);
  return text;
}

function notesIn({ event, data }: LogEvent): number {
  if (event === "output" || event === "stored") return 0;
  if (event !== "setup") return 1;
  const { logs: _, ...rest } = data;
  return Math.ceil(JSON.stringify(rest).length / NOTE_CHARS);
}

function sizeOf({ event, data }: LogEvent, json: string): number {
  // The log has all of the event's JSON, whatever size it states.
  if (event === "stored") return Math.max(data.size, json.length);
  if (event === "setup") return data.logs?.length ?? 0;
  return typeof data === "string" ? data.length : json.length;
}

/**
 * The stored values of a prediction:
 *
 *   `request`           its spec and input, which never change, and the first row of its log
 *   `state`             its state, if that is large: each row would have it again
 *   `log:` and an id    a row of its log, under the id of its first event (log-rows.ts)
 *
 * A new prediction is in memory alone. If it lasts, `keep` stores it. If it ends before, its whole log is
 * stored with the request: a value is billed as one row. A table of our own would be two more. Reading
 * makes no table: an object without a prediction stores nothing.
 */

const REQUEST = "request";
const STATE = "state";
const LOG = "log:";
/** The digits of the largest safe integer: with leading zeros, the order of names is the order of ids. */
const ID_DIGITS = 16;

/** UTF-16 units of a row's events, at most 2 bytes each where they are stored: a value may have 2 MB. */
export const MAX_FRAME_UNITS = 600_000;

/** Bytes of input and log that are stored as one value with the spec. */
const MAX_WHOLE_BYTES = 1_600_000;

interface Request {
  spec: PredictionSpec;
  /** JSON text in UTF-8: a string with one rare character would take two bytes for each. */
  input: Uint8Array;
  /** The first row of the log, by its id, or all of them. */
  rows: Map<number, string>;
}

type Row = { id: number; body: string };

const decoder = new TextDecoder();

const nameOf = (id: number) => `${LOG}${String(id).padStart(ID_DIGITS, "0")}`;

const rowOf = ([name, body]: [string, string]): Row => ({
  id: Number(name.slice(LOG.length)),
  body,
});

export class Entries {
  readonly #kv: SyncKvStorage;
  readonly #onKept: () => void;
  /** Undefined once the request is stored. */
  #unstored: Request | undefined;
  /** The request of a short run that has ended: its caller is about to read it. */
  #ended: Request | undefined;
  /** Rows that are stored with the request, or will be. */
  #rows: Map<number, string>;
  /** Whether the rows are being written for the last time. */
  #ending = false;

  private constructor(kv: SyncKvStorage, onKept: () => void, rows: Map<number, string>) {
    this.#kv = kv;
    this.#onKept = onKept;
    this.#rows = rows;
  }

  /**
   * Creates entries that are in memory alone.
   * @param onKept called with what `keep` writes
   */
  static create(
    kv: SyncKvStorage,
    onKept: () => void,
    { spec, input, firstRow }: { spec: PredictionSpec; input: string; firstRow: string },
  ): Entries {
    const rows = new Map([[1, firstRow]]);
    const entries = new Entries(kv, onKept, rows);
    entries.#unstored = { spec, input: encoder.encode(input), rows };
    return entries;
  }

  /** @returns undefined when nothing is stored */
  static load(
    kv: SyncKvStorage,
    onKept: () => void,
  ): { spec: PredictionSpec; entries: Entries } | undefined {
    const request = kv.get<Request>(REQUEST);
    return request && { spec: request.spec, entries: new Entries(kv, onKept, request.rows) };
  }

  /** Stores what is in memory alone: the prediction lasts. */
  keep(): void {
    if (!this.#unstored) return;
    const [first, ...others] = this.#rows;
    this.#rows = new Map(first && [first]);
    this.#store(this.#unstored);
    for (const [id, body] of others) this.#kv.put(nameOf(id), body);
    this.#onKept();
  }

  /** Makes these writes the last ones: nothing but the removal of its data follows. */
  end(write: () => void): void {
    this.#ending = true;
    write();
    this.#ending = false;
    if (!this.#unstored) return;
    if (bytesOf(this.#unstored) > MAX_WHOLE_BYTES) return this.keep();
    this.#ended = this.#unstored;
    this.#store(this.#unstored);
  }

  input(): string {
    return decoder.decode(this.#request().input);
  }

  put(id: number, body: string): void {
    if (this.#unstored && this.#ending) {
      this.#rows.set(id, body);
      return;
    }
    // A write before the end is of a prediction that lasts.
    this.keep();
    this.#kv.put(nameOf(id), body);
  }

  /** Writes a state that is too large for rows. */
  putState(text: string): void {
    this.keep();
    this.#kv.put(STATE, text);
  }

  /** Returns the state that `putState` wrote. @throws Error when there is none */
  state(): string {
    const text = this.#kv.get<string>(STATE);
    if (text === undefined) throw new Error("the state is missing");
    return text;
  }

  removeData(): void {
    const { spec } = this.#request();
    this.#rows = new Map();
    this.#ended = undefined;
    this.#store({ spec, input: new Uint8Array() });
    for (let rows = this.#some(); rows.length > 0; rows = this.#some())
      for (const [name] of rows) this.#kv.delete(name);
  }

  /** Returns a row. @throws Error when there is none */
  row(id: number): string {
    const body = this.#rows.get(id) ?? this.#kv.get<string>(nameOf(id));
    if (body === undefined) throw new Error(`row ${id} of the log is missing`);
    return body;
  }

  last(): Row {
    const last = this.#atOrBefore(Number.MAX_SAFE_INTEGER - 1);
    if (!last) throw new Error("the log is empty");
    return last;
  }

  /**
   * The rows from the one that holds `eventId` on; read as they are consumed, without an await in between.
   */
  *frames(eventId: number): Generator<Row> {
    const from = this.#atOrBefore(eventId)?.id ?? 1;
    for (const [id, body] of this.#rows) if (id >= from) yield { id, body };
    for (const one of this.#list({ start: nameOf(from) })) yield rowOf(one);
  }

  /** The first row that begins with this event or a later one. */
  next(eventId: number): Row | undefined {
    for (const [id, body] of this.#rows) if (id >= eventId) return { id, body };
    const [found] = this.#list({ start: nameOf(eventId), limit: 1 });
    return found && rowOf(found);
  }

  #atOrBefore(id: number): Row | undefined {
    const [found] = this.#list({ end: nameOf(id + 1), reverse: true, limit: 1 });
    if (found) return rowOf(found);
    const held = [...this.#rows].findLast(([other]) => other <= id);
    return held && { id: held[0], body: held[1] };
  }

  /** Returns a few entries: all of them together need not fit into memory. */
  #some(): [string, string][] {
    return [...this.#list({ limit: 16 })];
  }

  #list(range: Pick<SyncKvListOptions, "start" | "end" | "reverse" | "limit">) {
    return this.#kv.list<string>({ prefix: LOG, ...range });
  }

  #request(): Pick<Request, "spec" | "input"> {
    const request = this.#unstored ?? this.#ended ?? this.#kv.get<Request>(REQUEST);
    if (!request) throw new Error("the request is missing");
    return request;
  }

  #store({ spec, input }: Pick<Request, "spec" | "input">): void {
    this.#kv.put<Request>(REQUEST, { spec, input, rows: this.#rows });
    this.#unstored = undefined;
  }
}

function bytesOf({ input, rows }: Request): number {
  let units = 0;
  for (const body of rows.values()) units += body.length;
  return input.byteLength + 2 * units;
}

/** Totals of the log: which frame came last, and what counts towards the limits. */

export interface LogTotals {
  /** The last attempt that reported, and the sequence number of its last frame. */
  attempt: number;
  seq: number;
  /** The number of `output` events, their bytes with those of metrics, and the bytes of logs. */
  outputs: number;
  output_bytes: number;
  logs_bytes: number;
  /** The number of other events. It is limited because each may be a row of the log. */
  notes: number;
}

const NOTHING_REPORTED = { outputs: 0, output_bytes: 0, logs_bytes: 0, notes: 0 };

export const NO_TOTALS: LogTotals = { attempt: 0, seq: 0, ...NOTHING_REPORTED };

/** The bytes of an empty output event, which the runner counts, too. */
const OUTPUT_ENVELOPE_BYTES = '{"event":"output","data":}'.length;

/** The totals with a further frame of this attempt. */
export function totalsWith(
  totals: LogTotals,
  attempt: number,
  seq: number,
  events: EncodedEvent[],
): LogTotals {
  const next = { ...totals, attempt, seq };
  // Limits apply to each attempt: its runner knows nothing of earlier ones.
  if (attempt !== totals.attempt) Object.assign(next, NOTHING_REPORTED);
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
