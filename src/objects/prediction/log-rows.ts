/** The stored part of the event log: rows of events whose ids follow each other. */
import { arrayText, objectText, objectWriter } from "../../lib/json-splice.ts";
import type { LogEvent } from "../../protocol/event.ts";
import type { Entries } from "./entries.ts";
import type { NumberedEvent } from "./log-events.ts";
import type { LogTotals } from "./log-totals.ts";
import type { Piece } from "./rpc-types.ts";

/** The totals are stored in each row, so that the last row has them. */
interface Row extends LogTotals {
  /** When its last event came, unix ms. */
  at: number;
  events: LogEvent[];
}

/** Where the rows are. */
export type RowStore = Pick<Entries, "append" | "last" | "frames">;

export class LogRows {
  readonly #entries: RowStore;

  constructor(entries: RowStore) {
    this.#entries = entries;
  }

  /** What the last row says, and the id of its last event. */
  last(): { last: number; at: number; totals: LogTotals } {
    const { id, body } = this.#entries.last();
    const { events, at, ...totals }: Row = JSON.parse(body);
    return { last: id + events.length - 1, at, totals };
  }

  /** Appends one row. @param events at least one, their ids without a gap */
  append(events: NumberedEvent[], totals: LogTotals, at: number): void {
    this.#entries.append(events[0]?.id ?? 0, rowText(totals, events, at));
  }

  /** The events after `after`, up to the event `last`; read as they are consumed, without an await between. */
  *events(after: number, last: number): Generator<NumberedEvent & { attempt: number }> {
    for (const { id: first, body } of this.#entries.frames(after + 1)) {
      if (first > last) return;
      const { attempt, events }: Row = JSON.parse(body);
      for (const [n, { event, data }] of events.entries()) {
        const id = first + n;
        if (id > last) return;
        if (id > after) yield { id, attempt, event, json: JSON.stringify(data) };
      }
    }
  }

  /** All rows; to be consumed without an await in between. */
  *rows(): Generator<Pick<Row, "at" | "attempt" | "events">> {
    for (const { body } of this.#entries.frames(1)) yield JSON.parse(body);
  }

  /** The outputs of an attempt after the event `after`, up to the event `last`. */
  outputs(attempt: number, last: number, after: number): Piece[] {
    const values: Piece[] = [];
    for (const one of this.events(after, last)) {
      if (one.attempt !== attempt) continue;
      if (one.event === "output") values.push(one.json);
      else if (one.event === "stored") values.push(JSON.parse(one.json));
    }
    return values;
  }
}

/** A Row as JSON text. */
export const rowText = (
  totals: LogTotals,
  events: Pick<NumberedEvent, "event" | "json">[],
  at: number,
): string => objectText({ ...totals, at }, { events: arrayText(events.map(eventText)) });

/** By the name of the event, of which there are few. */
const eventWriters = new Map<string, (json: string) => string>();

function eventText({ event, json }: Pick<NumberedEvent, "event" | "json">): string {
  const write = eventWriters.get(event) ?? objectWriter({ event }, "data");
  eventWriters.set(event, write);
  return write(json);
}
