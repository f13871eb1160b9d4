/**
 * What is stored of a prediction:
 *
 *   `request`           its spec and input, which never change
 *   `log:` and an id    a row of its log, under the id of its first event (log-rows.ts)
 *
 * At first both are in memory alone. If the prediction lasts, `keep` stores them. If it ends before, they
 * are stored as one value, which is billed as one row. A table of our own would be two more. Reading
 * makes none: an object without a prediction stores nothing.
 */
import type { PredictionSpec } from "../../domain/predictions/state.ts";

const REQUEST = "request";
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
  /** All rows of the log by their ids, if the prediction ended before it was kept. */
  rows?: Map<number, string>;
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
  /** All of it, unless the rows are stored each by itself. */
  #whole: Required<Request> | undefined;
  #isStored = false;
  /** It is being written for the last time. */
  #ending = false;

  private constructor(kv: SyncKvStorage, onKept: () => void, whole?: Required<Request>) {
    this.#kv = kv;
    this.#onKept = onKept;
    this.#whole = whole;
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
    return new Entries(kv, onKept, { spec, input: encoder.encode(input), rows });
  }

  /** @returns undefined when nothing is stored */
  static load(
    kv: SyncKvStorage,
    onKept: () => void,
  ): { spec: PredictionSpec; entries: Entries } | undefined {
    const request = kv.get<Request>(REQUEST);
    if (!request) return undefined;
    const { spec, input, rows } = request;
    const entries = new Entries(kv, onKept, rows && { spec, input, rows });
    entries.#isStored = true;
    return { spec, entries };
  }

  /** Stores what is in memory alone: it lasts. */
  keep(): void {
    if (!this.#whole || this.#isStored) return;
    const { spec, input, rows } = this.#whole;
    this.#whole = undefined;
    this.#isStored = true;
    this.#kv.put<Request>(REQUEST, { spec, input });
    for (const [id, body] of rows) this.#kv.put(nameOf(id), body);
    this.#onKept();
  }

  /** Makes these writes the last ones: nothing but the removal of its data follows. */
  end(write: () => void): void {
    this.#ending = true;
    write();
    this.#ending = false;
    if (!this.#whole) return;
    if (!this.#isStored && bytesOf(this.#whole) > MAX_WHOLE_BYTES) return this.keep();
    this.#kv.put<Request>(REQUEST, this.#whole);
    this.#isStored = true;
  }

  input(): string {
    const { input } = this.#whole ?? this.#request();
    return decoder.decode(input);
  }

  /** Writes a row, or replaces the one with this id. */
  put(id: number, body: string): void {
    if (!this.#whole) return this.#kv.put(nameOf(id), body);
    this.#whole.rows.set(id, body);
    // A write before the end is of a prediction that lasts.
    if (!this.#ending) this.keep();
  }

  /** Deletes the input and all rows of the log. */
  removeData(): void {
    const input = new Uint8Array();
    if (this.#whole) {
      this.#whole = { ...this.#whole, input, rows: new Map() };
      return;
    }
    this.#kv.put<Request>(REQUEST, { ...this.#request(), input });
    for (let rows = this.#some(); rows.length > 0; rows = this.#some())
      for (const [name] of rows) this.#kv.delete(name);
  }

  /** A row that is there. */
  row(id: number): string {
    const body = this.#whole ? this.#whole.rows.get(id) : this.#kv.get<string>(nameOf(id));
    if (body === undefined) throw new Error(`row ${id} of the log is missing`);
    return body;
  }

  /** The last row of the log. */
  last(): Row {
    const last = this.#atOrBefore(Number.MAX_SAFE_INTEGER);
    if (!last) throw new Error("the log is empty");
    return last;
  }

  /** The rows from the one that holds `eventId` on; read as they are consumed, without an await between. */
  *frames(eventId: number): Generator<Row> {
    const from = this.#atOrBefore(eventId)?.id ?? 1;
    if (this.#whole) {
      for (const [id, body] of this.#whole.rows) if (id >= from) yield { id, body };
    } else for (const one of this.#list({ start: nameOf(from) })) yield rowOf(one);
  }

  #atOrBefore(id: number): Row | undefined {
    if (this.#whole) {
      const found = [...this.#whole.rows].findLast(([other]) => other <= id);
      return found && { id: found[0], body: found[1] };
    }
    const [found] = this.#list({ end: nameOf(id + 1), reverse: true, limit: 1 });
    return found && rowOf(found);
  }

  /** Not all at once: they need not fit into memory. */
  #some(): [string, string][] {
    return [...this.#list({ limit: 16 })];
  }

  #list(range: Pick<SyncKvListOptions, "start" | "end" | "reverse" | "limit">) {
    return this.#kv.list<string>({ prefix: LOG, ...range });
  }

  #request(): Request {
    const request = this.#kv.get<Request>(REQUEST);
    if (!request) throw new Error("the request is missing");
    return request;
  }
}

function bytesOf({ input, rows }: Required<Request>): number {
  let units = 0;
  for (const body of rows.values()) units += body.length;
  return input.byteLength + 2 * units;
}
