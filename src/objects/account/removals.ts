/**
 * When the data of short runs is to be removed, which set no alarm for it: the account does it. An index
 * by that time would cost each of them two rows more. So those that were made and have ended within the
 * same minutes, and are kept equally long, share one row here: they are found by their ids, which begin
 * with the time.
 */
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { firstIdAt, timeOfId } from "../../lib/hex.ts";

/** Data is removed when that of all that share a row is due: at most this late, or 1 % of the time. */
const LONGEST_MS = 5 * 60_000;
const SHORTEST_MS = 1_000;

/** Predictions whose ids were made, and which have ended, from these times on, for some minutes. */
export interface Removal {
  due_at: number;
  kept_seconds: number;
  ended_from: number;
  made_from: number;
}

type RemovalRow = Removal & Record<string, SqlStorageValue>;

const lengthOf = (keptSeconds: number) =>
  Math.min(LONGEST_MS, Math.max(SHORTEST_MS, Math.floor(keptSeconds * 10)));

const INSERT =
  "INSERT OR IGNORE INTO removals (due_at, kept_seconds, ended_from, made_from) VALUES (?, ?, ?, ?)";

export class Removals {
  readonly #sql: SqlStorage;
  /** The last that was planned: usually it is the next one's, too. */
  #planned: Removal | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** @returns when it is due, unix ms */
  plan(id: string, endedAt: number, keptSeconds: number): number {
    const length = lengthOf(keptSeconds);
    const from = (time: number) => time - (time % length);
    const removal = {
      due_at: from(endedAt) + length + keptSeconds * 1_000,
      kept_seconds: keptSeconds,
      ended_from: from(endedAt),
      made_from: from(timeOfId(id)),
    };
    if (this.#planned && isSame(this.#planned, removal)) return removal.due_at;
    this.#insert(removal);
    this.#planned = removal;
    return removal.due_at;
  }

  get next(): Removal | undefined {
    return this.#sql
      .exec<RemovalRow>("SELECT * FROM removals ORDER BY due_at LIMIT 1")
      .toArray()[0];
  }

  /** The next of its predictions after an id whose data may be there. */
  predictions({ kept_seconds, ended_from, made_from }: Removal, after: string, limit: number) {
    const length = lengthOf(kept_seconds);
    const first = firstIdAt(made_from);
    return this.#sql
      .exec<Pick<PredictionRow, "id" | "object_id">>(
        `SELECT id, object_id FROM predictions
        WHERE id > ? AND id < ? AND kept_seconds = ? AND updated_at >= ? AND updated_at < ?
          AND data_removed = 0 ORDER BY id LIMIT ?`,
        after > first ? after : first,
        firstIdAt(made_from + length),
        kept_seconds,
        ended_from,
        ended_from + length,
        limit,
      )
      .toArray();
  }

  done({ due_at, kept_seconds, ended_from, made_from }: Removal): void {
    this.#sql.exec(
      `DELETE FROM removals
      WHERE due_at = ? AND kept_seconds = ? AND ended_from = ? AND made_from = ?`,
      due_at,
      kept_seconds,
      ended_from,
      made_from,
    );
    this.#planned = undefined;
  }

  /** What ended before this, unix ms, has no data any more. */
  get removedBefore(): number {
    const [row] = this.#sql
      .exec<{ ended_from: number | null }>("SELECT min(ended_from) AS ended_from FROM removals")
      .toArray();
    return row?.ended_from ?? Number.POSITIVE_INFINITY;
  }

  #insert({ due_at, kept_seconds, ended_from, made_from }: Removal): void {
    this.#sql.exec(INSERT, due_at, kept_seconds, ended_from, made_from);
  }
}

const isSame = (a: Removal, b: Removal) =>
  a.due_at === b.due_at && a.ended_from === b.ended_from && a.made_from === b.made_from;
