/** The rows of the waiting jobs: what survives of a pool when it is evicted. */
import type { WaitingJob } from "../../protocol/queue.ts";

interface Row extends Record<string, SqlStorageValue> {
  object_id: string;
  account_id: string;
  hardware: string;
  image: string;
}

export class Waiting {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    sql.exec(
      `CREATE TABLE IF NOT EXISTS waiting (
         seq INTEGER PRIMARY KEY AUTOINCREMENT,
         object_id TEXT NOT NULL UNIQUE,
         account_id TEXT NOT NULL,
         hardware TEXT NOT NULL,
         image TEXT NOT NULL,
         unplaced INTEGER
       )`,
    );
  }

  /** In the order in which they came. */
  all(): WaitingJob[] {
    return this.#sql
      .exec<Row>("SELECT object_id, account_id, hardware, image FROM waiting ORDER BY seq")
      .toArray();
  }

  /** @param unplaced the attempt that was offered for it and not handed out. */
  add(job: WaitingJob, unplaced: number | undefined): void {
    this.#sql.exec(
      `INSERT INTO waiting (object_id, account_id, hardware, image, unplaced) VALUES (?, ?, ?, ?, ?)
       ON CONFLICT (object_id) DO UPDATE SET unplaced = excluded.unplaced`,
      job.object_id,
      job.account_id,
      job.hardware,
      job.image,
      unplaced ?? null,
    );
  }

  unplaced(objectId: string): number | undefined {
    const [row] = this.#sql.exec<{ unplaced: number | null }>(
      "SELECT unplaced FROM waiting WHERE object_id = ?",
      objectId,
    );
    return row?.unplaced ?? undefined;
  }

  remove(objectId: string): void {
    this.#sql.exec("DELETE FROM waiting WHERE object_id = ?", objectId);
  }
}
