/** The stored part of the event log: rows of events whose ids follow each other. */
import type { PredictionState } from "../../domain/predictions/state.ts";
import { arrayText, objectText, objectWriter } from "../../lib/json-splice.ts";
import { memberFrom } from "../../lib/json-text.ts";
import type { LogEvent } from "../../protocol/event.ts";
import type { Piece } from "../stubs/content.ts";
import {
  type EncodedEvent,
  type Entries,
  type LogTotals,
  NO_TOTALS,
  type NumberedEvent,
  writtenEvents,
} from "./log-events.ts";

/**
 * A row of the log. Each row has what was true at its end, so that the last one has all that an object needs.
 */
interface Row extends LogTotals {
  /** When the last event of the row came, unix ms. */
  at: number;
  /** The state of the prediction as of this row, or the id of the row that has it, or APART. */
  state?: PredictionState;
  state_in?: number;
  /** Empty if only the state has changed: the next row has the same id, and replaces this one. */
  events: LogEvent[];
}

/**
 * A larger state is a value of its own, which is replaced: with metrics of 16 KB and a change of them
 * every 30 ms, an hour's log would have 2 GB of it.
 */
const MAX_STATE_UNITS = 4_096;
const APART = 0;

/** The part of `Entries` that stores rows. */
export type RowStore = Pick<
  Entries,
  "put" | "row" | "last" | "frames" | "next" | "putState" | "state"
>;

export interface LogEnd {
  /** The id of the last event. */
  last: number;
  at: number;
  totals: LogTotals;
}

type StoredRowEvent = NumberedEvent & { attempt: number };

/**
 * The row that was read last: a reader that lags takes it in several pages. Only one is kept for all
 * predictions of an isolate: parsed, it may take a megabyte.
 */
let lastRead: { rows: LogRows; events: StoredRowEvent[] } | undefined;

export class LogRows {
  readonly #entries: RowStore;
  /** The state as it is stored, as JSON text, and the row that has it. */
  #state: { id: number; text: string };

  private constructor(entries: RowStore, state: { id: number; text: string }) {
    this.#entries = entries;
    this.#state = state;
  }

  static first = (events: EncodedEvent[], state: string): string =>
    rowText({ ...NO_TOTALS, at: Date.now() }, { state, events: eventsText(events) });

  static begin(entries: RowStore, state: string): LogRows {
    return new LogRows(entries, { id: 1, text: state });
  }

  static load(entries: RowStore): { rows: LogRows; end: LogEnd; state: PredictionState } {
    const { id, body } = entries.last();
    const { events, at, state, state_in, ...totals }: Row = JSON.parse(body);
    const end = { last: id + events.length - 1, at, totals };
    const foundIn = state_in ?? id;
    const found = state ?? stateOf(entries, foundIn);
    const rows = new LogRows(entries, { id: foundIn, text: JSON.stringify(found) });
    return { rows, end, state: found };
  }

  /**
   * Writes one row.
   * @param id of the row's first event, or of the next one if it has none
   * @param events whose ids have no gap
   * @param state of the prediction, as JSON text, if it has changed
   */
  write(
    id: number,
    events: NumberedEvent[],
    { totals, at, state }: { totals: LogTotals; at: number; state: string | undefined },
  ): void {
    // The row that is replaced may have had the state.
    let text = state ?? (this.#state.id === id ? this.#state.text : undefined);
    if (text !== undefined && text.length > MAX_STATE_UNITS) {
      this.#entries.putState(text);
      this.#state = { id: APART, text };
      text = undefined;
    } else if (text !== undefined) this.#state = { id, text };
    const body =
      text === undefined
        ? rowText({ ...totals, at, state_in: this.#state.id }, { events: eventsText(events) })
        : rowText({ ...totals, at }, { state: text, events: eventsText(events) });
    this.#entries.put(id, body);
    // The new row may replace `lastRead`; and a row without events may be all that is left.
    if (lastRead?.rows === this && (events.length === 0 || lastRead.events[0]?.id === id))
      lastRead = undefined;
  }

  /**
   * The events after `after`, up to the event `last`; read as they are consumed, without an await in between.
   */
  *events(after: number, last: number): Generator<StoredRowEvent> {
    let next = after + 1;
    const read = lastRead?.rows === this ? lastRead.events : [];
    if (next >= (read[0]?.id ?? next + 1) && next <= (read.at(-1)?.id ?? 0)) {
      for (const one of read) if (one.id >= next && one.id <= last) yield one;
      next = (read.at(-1)?.id ?? 0) + 1;
    }
    if (next > last) return;
    for (const { id: first, body } of this.#entries.frames(next)) {
      if (first > last) return;
      const events = eventsOf(first, body);
      lastRead = { rows: this, events };
      for (const one of events) if (one.id >= next && one.id <= last) yield one;
    }
  }

  /** Yields all rows; to be consumed without an await in between. */
  *rows(): Generator<Pick<Row, "at" | "attempt" | "events"> & { id: number; body: string }> {
    for (const { id, body } of this.#entries.frames(1)) yield { ...JSON.parse(body), id, body };
  }

  /** The outputs of an attempt after the event `after`, up to the event `last`. */
  outputs(attempt: number, last: number, after: number): Piece[] {
    return [...outputsOf(attempt, this.events(after, last))];
  }

  /** Yields the outputs up to the event `last`, row by row: whatever comes between two rows may wait. */
  *outputsByRow(attempt: number, last: number): Generator<Piece> {
    for (let next = 1; next <= last; ) {
      const row = this.#entries.next(next);
      if (!row) return;
      const events = eventsOf(row.id, row.body);
      const upToLast = events.filter(({ id }) => id <= last);
      yield* outputsOf(attempt, upToLast);
      next = row.id + Math.max(events.length, 1);
    }
  }

  /** Yields the texts that were logged up to the event `last`, row by row. */
  *textsByRow(last: number): Generator<string> {
    for (let next = 1; next <= last; ) {
      const row = this.#entries.next(next);
      if (!row) return;
      const { events }: Row = JSON.parse(row.body);
      yield events.map(loggedBy).join("");
      next = row.id + Math.max(events.length, 1);
    }
  }
}

function loggedBy({ event, data }: LogEvent): string {
  if (event === "logs") return data;
  return event === "setup" ? (data.logs ?? "") : "";
}

function* outputsOf(attempt: number, events: Iterable<StoredRowEvent>): Generator<Piece> {
  for (const one of events) {
    if (one.attempt !== attempt) continue;
    if (one.event === "output") yield one.json;
    else if (one.event === "stored") yield JSON.parse(one.json);
  }
}

const rowText = (
  members: LogTotals & Pick<Row, "at" | "state_in">,
  texts: { state?: string; events: string },
): string => objectText(members, texts);

function eventsOf(first: number, body: string): StoredRowEvent[] {
  const { attempt }: Row = JSON.parse(`${body.slice(0, memberFrom(body, "events"))}[]}`);
  return eventsIn(body).map((one, n) => ({ id: first + n, attempt, ...one }));
}

/** The events of a row: their data as it came. */
export function eventsIn(body: string) {
  const events = writtenEvents(body, memberFrom(body, "events"));
  if (!events) throw new Error("the row has no events");
  return events;
}

function stateOf(entries: RowStore, id: number): PredictionState {
  if (id === APART) return JSON.parse(entries.state());
  const { state }: Row = JSON.parse(entries.row(id));
  if (!state) throw new Error("the row has no state");
  return state;
}

const eventsText = (events: Pick<NumberedEvent, "event" | "json">[]) =>
  arrayText(events.map(eventText));

/** Writers by the name of the event: there are few names. */
const eventWriters = new Map<string, (json: string) => string>();

function eventText({ event, json }: Pick<NumberedEvent, "event" | "json">): string {
  const write = eventWriters.get(event) ?? objectWriter({ event }, "data");
  eventWriters.set(event, write);
  return write(json);
}
