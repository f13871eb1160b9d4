/**
 * The storage of a prediction, in one table (a second one would cost 0.2 ms of every create):
 *
 *   id > 0    a frame of the event log, under the id of its first event
 *   id = 0    the record: spec and state
 *   id = -1   the input, unless it is stored in R2
 *
 * Only `create` makes the table, reading never does: an object without a prediction stores nothing.
 */

const RECORD = 0;
const INPUT = -1;

/** UTF-16 units of a frame's events, each at most 3 bytes of UTF-8: a row may have 2 MB. */
export const MAX_FRAME_UNITS = 600_000;

interface Row extends Record<string, SqlStorageValue> {
  id: number;
  body: string;
}

export class Entries {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  exists(): boolean {
    return this.#sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'entry'").toArray().length > 0;
  }

  create(record: string, input: string, firstFrame: string): void {
    this.#sql.exec("CREATE TABLE entry (id INTEGER PRIMARY KEY, body TEXT NOT NULL)");
    const rows = "INSERT INTO entry VALUES (?, ?), (?, ?), (?, ?)";
    this.#sql.exec(rows, INPUT, input, RECORD, record, 1, firstFrame);
  }

  record(): string {
    return this.#sql.exec<Row>("SELECT id, body FROM entry WHERE id = ?", RECORD).one().body;
  }

  saveRecord(record: string): void {
    this.#sql.exec("UPDATE entry SET body = ? WHERE id = ?", record, RECORD);
  }

  input(): string {
    return this.#sql.exec<Row>("SELECT id, body FROM entry WHERE id = ?", INPUT).one().body;
  }

  append(firstEventId: number, frame: string): void {
    this.#sql.exec("INSERT INTO entry VALUES (?, ?)", firstEventId, frame);
  }

  /** Deletes all but the record, and appends a frame without events. */
  removeData(lastEventId: number, closing: string): void {
    this.#sql.exec("DELETE FROM entry WHERE id <> ?", RECORD);
    this.append(lastEventId + 1, closing);
  }

  /** The last frame of the log. */
  last(): Row {
    return this.#sql.exec<Row>("SELECT id, body FROM entry ORDER BY id DESC LIMIT 1").one();
  }

  /** The frames from the one that holds `eventId` on; read as they are consumed, without an await between. */
  frames(eventId: number): Iterable<Row> {
    return this.#sql.exec<Row>(
      "SELECT id, body FROM entry WHERE id >= (SELECT max(id) FROM entry WHERE id <= ?) AND id > 0 ORDER BY id",
      Math.max(eventId, 1),
    );
  }
}
