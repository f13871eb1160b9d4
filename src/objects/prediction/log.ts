/**
 * The event log. A runner's events are numbered when they arrive and stored a little later, many frames in a
 * row: until then they are in memory alone, and readers may have been shown them. If the object dies
 * meanwhile, the runner sends them again, and they get the same ids, as no other event may.
 */

import type { Piece } from "../stubs/content.ts";
import {
  type EncodedEvent,
  type EncodedEvents,
  type LogTotals,
  MAX_FRAME_UNITS,
  NO_TOTALS,
  type NumberedEvent,
  pageOf,
  type StoredEvent,
  totalsWith,
  unitsOf,
} from "./log-events.ts";
import type { LogEnd, LogRows } from "./log-rows.ts";

/** The most events that are not stored. */
const MAX_UNSTORED = 8_192;

/**
 * The most events that are shown before they are durable: unstored ones, and those that are being written.
 * With 512 of each, frames of 512 events were a row each, and readers waited for the disk at each; with
 * 2,048, a row had four of them, and a single reader got a tenth less.
 */
export const MAX_AHEAD = 16_384;

/** UTF-16 units at which gathered events are stored at once. */
const FULL_UNITS = 128 * 1024;

/** A page of a replay ends with the event that exceeds this: the cost of a reader that lags. */
const PAGE_CHARS = 32 * 1024;

/** Assumptions of a loaded object about the instance before it. */
export interface Before {
  /** Whether a runner was at work: events may have been shown that are not stored. */
  atWork: boolean;
  /** Whether the first attempt is open: what its first frame made may have been shown. */
  unstarted: boolean;
}

export const NOTHING_BEFORE: Before = { atWork: false, unstarted: false };

export class EventLog {
  readonly #rows: LogRows;
  #last: number;
  #stored: number;
  #totals: LogTotals;
  #storedTotals: LogTotals;
  /** When the last frame came. */
  #at: number;
  /** Events that are numbered and not stored; their ids have no gap. */
  #buffer: NumberedEvent[] = [];
  #units = 0;
  /**
   * Whether the buffer has the first output. It is stored at once: an attempt that had output is not
   * repeated.
   */
  #hasFirstOutput = false;
  /** Events that were numbered since the last `takeNew`. */
  #new: NumberedEvent[] = [];
  /** The least id that the next event of the prediction itself may have. */
  #leastOwn: number;
  #unstarted: boolean;
  /** The page that was made last: readers that lag equally far take the same. */
  #page: { after: number; events: EncodedEvents } | undefined;

  private constructor(rows: LogRows, { last, totals, at }: LogEnd, { atWork, unstarted }: Before) {
    this.#rows = rows;
    this.#last = last;
    this.#stored = last;
    this.#totals = totals;
    this.#storedTotals = totals;
    this.#at = at;
    // The `+ 2` leaves a gap of ids even for readers that saw every event: the numbers of a response
    // (response-stream.ts) need it.
    this.#leastOwn = atWork ? last + MAX_AHEAD + 2 : 0;
    this.#unstarted = unstarted;
  }

  /** A new log. @param last the id of the last event of its first row */
  static begin(rows: LogRows, last: number): EventLog {
    return new EventLog(rows, { last, totals: NO_TOTALS, at: 0 }, NOTHING_BEFORE);
  }

  static load(rows: LogRows, end: LogEnd, before: Before): EventLog {
    return new EventLog(rows, end, before);
  }

  /** The id of the last event. */
  get last(): number {
    return this.#last;
  }

  /** The id of the last event that is stored. */
  get stored(): number {
    return this.#stored;
  }

  get totals(): Readonly<LogTotals> {
    return this.#totals;
  }

  /** The totals as of the last event that is stored. */
  get storedTotals(): Readonly<LogTotals> {
    return this.#storedTotals;
  }

  /** The sequence number of an attempt's last frame; 0 if there is none. */
  seqOf(attempt: number): number {
    return this.#totals.attempt === attempt ? this.#totals.seq : 0;
  }

  /** The sequence number of an attempt's last stored frame; 0 if there is none. */
  storedSeqOf(attempt: number): number {
    return this.#storedTotals.attempt === attempt ? this.#storedTotals.seq : 0;
  }

  /** When an attempt's last frame came, unix ms; 0 if none did. */
  lastFrameAt(attempt: number): number {
    return this.#totals.attempt === attempt ? this.#at : 0;
  }

  /** The totals with a further frame of this attempt. */
  totalsWith(attempt: number, seq: number, events: EncodedEvent[]): LogTotals {
    return totalsWith(this.#totals, attempt, seq, events);
  }

  add(events: EncodedEvent[], totals: LogTotals): void {
    const units = unitsOf(events);
    this.#makeRoom(units);
    const before = this.seqOf(totals.attempt) > 0 ? this.#totals.outputs : 0;
    this.#hasFirstOutput ||= before === 0 && totals.outputs > 0;
    this.#totals = totals;
    this.#number(events, units, this.#last + 1);
  }

  /**
   * Numbers events of the prediction itself: after a load the first one gets an id beyond all that may have
   * been shown before it.
   * @param starting the attempt whose start the events report. That of the first attempt may have been shown,
   * and gets the id that it had.
   */
  addOwn(events: EncodedEvent[], starting?: number): void {
    if (events.length === 0) return;
    const isRepeated = starting === 1 && this.#unstarted;
    const first = isRepeated ? this.#last + 1 : Math.max(this.#last + 1, this.#leastOwn);
    if (!isRepeated) this.#leastOwn = 0;
    const units = unitsOf(events);
    if (first > this.#last + 1) this.store();
    else this.#makeRoom(units);
    this.#number(events, units, first);
  }

  /** Whether the gathered events must be stored at once. */
  get full(): boolean {
    return this.#hasFirstOutput || this.#units >= FULL_UNITS || this.#buffer.length >= MAX_UNSTORED;
  }

  get allStored(): boolean {
    return this.#buffer.length === 0;
  }

  /**
   * Stores the gathered events in one row.
   * @param state of the prediction, as JSON text, if it has changed: it is stored in the same row
   */
  store(state?: string): void {
    const [first] = this.#buffer;
    if (!first && state === undefined) return;
    const [totals, at] = [this.#totals, this.#at];
    this.#rows.write(first?.id ?? this.#last + 1, this.#buffer, { totals, at, state });
    this.#buffer = [];
    this.#units = 0;
    this.#hasFirstOutput = false;
    this.#stored = this.#last;
    this.#storedTotals = this.#totals;
  }

  /** The events numbered since the last call. */
  takeNew(): NumberedEvent[] {
    const taken = this.#new;
    this.#new = [];
    return taken;
  }

  /** The next page of a replay after the event `after`, up to `last`; undefined if nothing follows. */
  page(after: number, last: number): EncodedEvents | StoredEvent | undefined {
    if (after >= Math.min(last, this.#last)) return undefined;
    if (this.#page?.after === after && this.#page.events.last <= last) return this.#page.events;
    const page = pageOf(this.#events(after, last), PAGE_CHARS);
    if (page && "bytes" in page) this.#page = { after, events: page };
    return page;
  }

  /** Yields all that is stored; to be consumed without an await in between. */
  rows(): ReturnType<LogRows["rows"]> {
    return this.#rows.rows();
  }

  /** The stored outputs of an attempt after the event `after`, up to the event `last`. */
  outputs(attempt: number, last = this.#stored, after = 0): Piece[] {
    return this.#rows.outputs(attempt, last, after);
  }

  /**
   * Yields the outputs of an attempt from the beginning, row by row: each row is read when its first output
   * is asked for.
   */
  outputsByRow(attempt: number, last = this.#stored): Generator<Piece> {
    return this.#rows.outputsByRow(attempt, last);
  }

  textsByRow(): Generator<string> {
    return this.#rows.textsByRow(this.#stored);
  }

  *#events(after: number, last: number): Generator<NumberedEvent> {
    if (after < this.#stored) yield* this.#rows.events(after, last);
    for (const one of this.#buffer) if (one.id > after && one.id <= last) yield one;
  }

  /** Stores what has gathered if one row could not hold these units, too. */
  #makeRoom(units: number): void {
    if (this.#units + units > MAX_FRAME_UNITS) this.store();
  }

  #number(events: EncodedEvent[], units: number, first: number): void {
    const numbered = events.map(({ event, json }, n) => ({ id: first + n, event, json }));
    this.#at = Date.now();
    this.#last = first + events.length - 1;
    this.#units += units;
    this.#buffer.push(...numbered);
    if (this.#new.length === 0) this.#new = numbered;
    else this.#new.push(...numbered);
  }
}

/**
 * The limit of events that readers may see. A runner's events are shown when they arrive, at most MAX_AHEAD
 * of them before they are durable. The prediction's own events (a retry, an end) are shown once they are
 * durable, and no later event before them: the bodies of streams leave an object at once, while its other
 * replies wait until what it wrote is durable.
 */

export class PublishWatermark {
  /** The id of the last event that is known to be durable. */
  #durable: number;
  /** All events after `from` are held until all events up to `to` are durable. */
  #from = 0;
  #to = 0;

  constructor(durable: number) {
    this.#durable = durable;
  }

  /** The id of the last event that may be shown, of a log that ends with `last`. */
  upTo(last: number): number {
    const shown = Math.min(last, this.#durable + MAX_AHEAD);
    return this.#durable < this.#to ? Math.min(shown, Math.max(this.#from, this.#durable)) : shown;
  }

  hold(from: number, to: number): void {
    if (this.#durable >= this.#to) this.#from = from;
    this.#to = to;
  }

  durableTo(id: number): void {
    this.#durable = Math.max(this.#durable, id);
  }
}
