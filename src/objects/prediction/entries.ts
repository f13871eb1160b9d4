/**
 * What is stored of a prediction:
 *
 *   `request`           its spec and input, which never change, and the first row of its log
 *   `state`             its state, if that is large: each row would have it again
 *   `log:` and an id    a row of its log, under the id of its first event (log-rows.ts)
 *
 * At first all is in memory alone. If the prediction lasts, `keep` stores it. If it ends before, its whole
 * log is stored with the request: a value is billed as one row. A table of our own would be two more.
 * Reading makes none: an object without a prediction stores nothing.
 */
import type { PredictionSpec } from "../../domain/predictions/state.ts";

const REQUEST = "request";
const STATE = "state";
const LOG = "log:";
/** As many as the largest safe integer has: names are in the order of ids. */
const ID_DIGITS = 16;

/** UTF-16 units of a row's events, at most 2 bytes each where they are stored: a value may have 2 MB. */
export const MAX_FRAME_UNITS = 600_000;

/** Bytes of input and log that are stored as one value with the spec. */
const MAX_WHOLE_BYTES = 1_600_000;

interface Request {
  spec: PredictionSpec;
  /** UTF-8: a string with one rare character would take two bytes for each. */
  input: Uint8Array;
  /** The first row of the log, by its id, or all of them. */
  rows: Map<number, string>;
}

type Row = { id: number; body: string };

const encoder = new TextEncoder();
const decoder = new TextDecoder();

const nameOf = (id: number) => `${LOG}${String(id).padStart(ID_DIGITS, "0")}`;

const rowOf = ([name, body]: [string, string]): Row => ({
  id: Number(name.slice(LOG.length)),
  body,
});

export class Entries {
  readonly #kv: SyncKvStorage;
  readonly #onKept: () => void;
  /** Undefined once it is stored. */
  #unstored: Request | undefined;
  /** Those that are stored with the request, or will be. */
  #rows: Map<number, string>;
  /** They are being written for the last time. */
  #ending = false;

  private constructor(kv: SyncKvStorage, onKept: () => void, rows: Map<number, string>) {
    this.#kv = kv;
    this.#onKept = onKept;
    this.#rows = rows;
  }

  /**
   * Stores nothing yet.
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

  /** Stores what is in memory alone: it lasts. */
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
    if (bytesOf(this.#unstored) > MAX_WHOLE_BYTES) this.keep();
    else this.#store(this.#unstored);
  }

  input(): string {
    return decoder.decode(this.#request().input);
  }

  /** Writes a row, or replaces the last one if that has this id. */
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

  /** That state, which is there. */
  state(): string {
    const text = this.#kv.get<string>(STATE);
    if (text === undefined) throw new Error("the state is missing");
    return text;
  }

  /** Deletes the input and all rows of the log. */
  removeData(): void {
    const { spec } = this.#request();
    this.#rows = new Map();
    this.#store({ spec, input: new Uint8Array() });
    for (let rows = this.#some(); rows.length > 0; rows = this.#some())
      for (const [name] of rows) this.#kv.delete(name);
  }

  /** A row that is there. */
  row(id: number): string {
    const body = this.#rows.get(id) ?? this.#kv.get<string>(nameOf(id));
    if (body === undefined) throw new Error(`row ${id} of the log is missing`);
    return body;
  }

  /** The last row of the log. */
  last(): Row {
    const last = this.#atOrBefore(Number.MAX_SAFE_INTEGER - 1);
    if (!last) throw new Error("the log is empty");
    return last;
  }

  /** The rows from the one that holds `eventId` on; read as they are consumed, without an await between. */
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

  /** Not all at once: they need not fit into memory. */
  #some(): [string, string][] {
    return [...this.#list({ limit: 16 })];
  }

  #list(range: Pick<SyncKvListOptions, "start" | "end" | "reverse" | "limit">) {
    return this.#kv.list<string>({ prefix: LOG, ...range });
  }

  #request(): Pick<Request, "spec" | "input"> {
    const request = this.#unstored ?? this.#kv.get<Request>(REQUEST);
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
