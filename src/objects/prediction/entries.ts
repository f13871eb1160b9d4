/**
 * What is stored of a prediction, in rows:
 *
 *   id > 0    a frame of the event log, under the id of its first event
 *   id = 0    the record: spec and state
 *   id = -1   the input, unless it is stored in R2
 *
 * At first they are in memory alone. If the prediction lasts, `keep` moves them to a table (a second one
 * would cost 0.2 ms). If it ends before, they are stored as one value: one row is billed instead of
 * seven. Reading makes no table: an object without a prediction stores nothing.
 */

const RECORD = 0;
const INPUT = -1;

/** The key of that value. */
const WHOLE = "prediction";

/** UTF-16 units of a frame's events, each at most 3 bytes of UTF-8: a row may have 2 MB. */
export const MAX_FRAME_UNITS = 600_000;

/** UTF-16 units of a whole prediction: 2 bytes each, or 1, and a value may have 2 MB. */
const MAX_WHOLE_UNITS = 900_000;

type Row = { id: number; body: string };

type Storage = Pick<DurableObjectStorage, "sql" | "kv">;

export class Entries {
  readonly #sql: SqlStorage;
  readonly #kv: SyncKvStorage;
  readonly #onKept: () => void;
  /** All rows, while there is no table. */
  #rows: Map<number, string> | undefined;
  /** Whether they are stored as one value. */
  #isWhole = false;
  /** They are being written for the last time. */
  #ending = false;

  private constructor({ sql, kv }: Storage, onKept: () => void, rows?: Iterable<[number, string]>) {
    this.#sql = sql;
    this.#kv = kv;
    this.#onKept = onKept;
    this.#rows = rows && new Map(rows);
  }

  /**
   * Stores nothing yet.
   * @param onKept called with what `keep` writes
   */
  static create(
    storage: Storage,
    onKept: () => void,
    rows: { record: string; input: string; firstFrame: string },
  ): Entries {
    return new Entries(storage, onKept, [
      [INPUT, rows.input],
      [RECORD, rows.record],
      [1, rows.firstFrame],
    ]);
  }

  /** @returns undefined when nothing is stored */
  static load(storage: Storage, onKept: () => void): Entries | undefined {
    const table = "SELECT 1 FROM sqlite_master WHERE name = 'entry'";
    if (storage.sql.exec(table).toArray().length > 0) return new Entries(storage, onKept);
    const whole = storage.kv.get<[number, string][]>(WHOLE);
    if (!whole) return undefined;
    const entries = new Entries(storage, onKept, whole);
    entries.#isWhole = true;
    return entries;
  }

  /** Moves to a table what is in memory alone: it lasts. */
  keep(): void {
    if (!this.#rows || this.#isWhole) return;
    const rows = [...this.#rows];
    this.#rows = undefined;
    this.#sql.exec("CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    const values = rows.map(() => "(?, ?)").join();
    this.#sql.exec(`INSERT INTO entry VALUES ${values}`, ...rows.flat());
    this.#onKept();
  }

  /** Makes these writes the last ones: nothing but the removal of its data follows. */
  end(write: () => void): void {
    this.#ending = true;
    write();
    this.#ending = false;
    if (!this.#rows) return;
    const rows = [...this.#rows];
    const units = rows.reduce((sum, [, body]) => sum + body.length, 0);
    if (units > MAX_WHOLE_UNITS) return this.keep();
    this.#kv.put(WHOLE, rows);
    this.#isWhole = true;
  }

  record(): string {
    return this.#body(RECORD);
  }

  saveRecord(record: string): void {
    if (this.#rows) return this.#set(RECORD, record);
    this.#sql.exec("UPDATE entry SET body = ? WHERE id = ?", record, RECORD);
  }

  input(): string {
    return this.#body(INPUT);
  }

  append(firstEventId: number, frame: string): void {
    if (this.#rows) return this.#set(firstEventId, frame);
    this.#sql.exec("INSERT INTO entry VALUES (?, ?)", firstEventId, frame);
  }

  /** Deletes all but the record, and appends a frame without events. */
  removeData(lastEventId: number, closing: string): void {
    if (this.#rows) this.#rows = new Map([[RECORD, this.record()]]);
    else this.#sql.exec("DELETE FROM entry WHERE id <> ?", RECORD);
    this.append(lastEventId + 1, closing);
  }

  /** The last frame of the log. */
  last(): Row {
    const last = this.#rows && [...this.#rows].at(-1);
    if (last) return { id: last[0], body: last[1] };
    return this.#sql.exec<Row>("SELECT id, body FROM entry ORDER BY id DESC LIMIT 1").one();
  }

  /** The frames from the one that holds `eventId` on; read as they are consumed, without an await between. */
  frames(eventId: number): Iterable<Row> {
    const from = Math.max(eventId, 1);
    if (this.#rows) {
      const frames = [...this.#rows].map(([id, body]) => ({ id, body })).filter(({ id }) => id > 0);
      return frames.slice(frames.findLastIndex(({ id }) => id <= from));
    }
    return this.#sql.exec<Row>(
      "SELECT id, body FROM entry WHERE id >= (SELECT max(id) FROM entry WHERE id <= ?) AND id > 0 ORDER BY id",
      from,
    );
  }

  #body(id: number): string {
    const body = this.#rows?.get(id);
    if (body !== undefined) return body;
    return this.#sql.exec<Row>("SELECT id, body FROM entry WHERE id = ?", id).one().body;
  }

  /** A write before the end is of a prediction that lasts. */
  #set(id: number, body: string): void {
    this.#rows?.set(id, body);
    if (!this.#ending) this.keep();
  }
}
