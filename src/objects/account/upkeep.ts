/**
 * The work of an account's alarm, in bounded steps: it removes the data that is due, asks the objects of
 * predictions that may have been lost, and deletes the rows of old ones. It removes all rows of a closed
 * account.
 */
import { LOOK_MS, type PredictionRow } from "../../domain/predictions/prediction-row.ts";
import { isTerminal } from "../../domain/predictions/status.ts";
import type { Bindings } from "../../env.ts";
import { firstIdAt, timeOfId } from "../../lib/hex.ts";
import { logger } from "../../log.ts";
import { deleteAll } from "../../storage/files/files.ts";
import { predictionWithId } from "../stubs/prediction.ts";
import {
  type AccountDatabase,
  type OldRow,
  selectDue,
  selectNextDue,
  selectOldest,
} from "./prediction-lists.ts";
import type { PredictionRows } from "./prediction-rows.ts";

const MAX_OBJECTS = 50;
const MAX_ROWS = 1_000;
/** Rows are deleted this late, so that an account wakes up once a day for it. */
const DAY_MS = 86_400_000;
const NEVER = Number.POSITIVE_INFINITY;

export class Upkeep {
  readonly #env: Bindings;
  readonly #db: AccountDatabase;
  readonly #rows: PredictionRows;
  readonly #removals: Removals;
  readonly #historyMs: number;

  #reached = { removal: "", id: "" };
  /** Predictions of a closed account that were asked to stop, and when they are asked again. */
  readonly #stopping = new Map<string, number>();

  constructor(
    env: Bindings,
    db: AccountDatabase,
    rows: PredictionRows,
    removals: Removals,
    historySeconds: number,
  ) {
    this.#env = env;
    this.#db = db;
    this.#rows = rows;
    this.#removals = removals;
    this.#historyMs = historySeconds * 1_000;
  }

  async look(userId: string, now: number): Promise<void> {
    const due = selectDue(this.#db, now, MAX_OBJECTS).all();
    await this.#each(due, (row) =>
      isTerminal(row.status) ? this.#remove(row) : this.#check(row, userId, now),
    );
  }

  async removeDue(now: number): Promise<void> {
    const removal = this.#removals.next;
    if (!removal || removal.due_at > now) return;
    const key = JSON.stringify(removal);
    // Another removal may have become the next one meanwhile.
    const after = this.#reached.removal === key ? this.#reached.id : "";
    const rows = this.#removals.predictions(removal, after, MAX_OBJECTS);
    const results = await Promise.allSettled(
      rows.map(({ object_id }) => predictionWithId(this.#env, object_id)?.remove(true)),
    );
    for (const [n, result] of results.entries()) {
      const isDone = result.status === "fulfilled" && result.value !== "under way";
      const id = rows[n]?.id;
      // The row is looked at by itself from now on: the others need not be asked again with it.
      if (!isDone && id !== undefined) this.#rows.postpone(id, now + LOOK_MS);
    }
    this.#reached = { removal: key, id: rows.at(-1)?.id ?? "" };
    if (rows.length < MAX_OBJECTS) this.#removals.done(removal);
  }

  /** @returns the last id that is deleted, if any is */
  deleteHistory(now: number): string | undefined {
    const before = now - this.#historyMs;
    const oldest = selectOldest(this.#db, 1).get();
    if (!oldest || oldest.updated_at >= before) return undefined;
    const isRemoved = this.#removedRows();
    return this.#deleteOldest((row) => row.updated_at < before && isRemoved(row));
  }

  /**
   * Deletes the oldest predictions that have ended, with their data.
   * @returns the last id that is deleted, if any is
   */
  async trim(): Promise<string | undefined> {
    const oldest = selectOldest(this.#db, MAX_OBJECTS).all();
    const underWay = oldest.findIndex(({ status }) => !isTerminal(status));
    const ended = underWay === -1 ? oldest : oldest.slice(0, underWay);
    const isRemoved = this.#removedRows();
    await this.#each(
      ended.filter((row) => !isRemoved(row)),
      (row) => this.#remove(row),
    );
    return this.#deleteOldest(isRemoved);
  }

  /** Deletes rows from the oldest on, up to one that does not qualify. */
  #deleteOldest(qualifies: (row: OldRow) => boolean): string | undefined {
    const oldest = selectOldest(this.#db, MAX_ROWS).all();
    const kept = oldest.findIndex((row) => !qualifies(row));
    const last = oldest.at(kept === -1 ? -1 : kept - 1);
    if (kept === 0 || !last) return undefined;
    this.#rows.deleteTo(last.id);
    return last.id;
  }

  /**
   * Removes the next predictions of a closed account: running ones are canceled first, and removed once they
   * have stopped.
   * @returns how many predictions were asked, and whether any are left
   */
  async removeAll(now: number): Promise<{ asked: number; left: boolean }> {
    const oldest = selectOldest(this.#db, MAX_ROWS).all();
    const isRemoved = this.#removedRows();
    const kept = oldest
      .filter((row) => !isRemoved(row) && (this.#stopping.get(row.id) ?? 0) <= now)
      .slice(0, MAX_OBJECTS);
    for (const { id } of kept) this.#stopping.set(id, now + LOOK_MS);
    await this.#each(kept, async (row) => {
      const object = predictionWithId(this.#env, row.object_id);
      if (!isTerminal(row.status)) await object?.cancel("its account is deleted");
      await this.#remove(row);
    });
    this.#deleteOldest(isRemoved);
    const left = selectOldest(this.#db, 1).get() !== undefined;
    if (!left) this.#stopping.clear();
    return { asked: kept.length, left };
  }

  /** Returns a function that says whether a row's data is removed. */
  #removedRows(): (row: OldRow) => boolean {
    const { removedBefore } = this.#removals;
    return ({ updated_at, kept_seconds, data_removed, due_at }) =>
      data_removed || (kept_seconds !== null && due_at === null && updated_at < removedBefore);
  }

  /** When the upkeep is needed next, unix ms; undefined for never. */
  get nextAt(): number | undefined {
    const due = selectNextDue(this.#db).get()?.due_at ?? NEVER;
    const removal = this.#removals.next?.due_at ?? NEVER;
    const oldest = selectOldest(this.#db, 1).get();
    // A row whose data is there is not deleted: the removal of the data comes first, and has a time of its
    // own.
    const isOver = oldest && this.#removedRows()(oldest);
    const history = isOver ? oldest.updated_at + this.#historyMs + DAY_MS : NEVER;
    const next = Math.min(due, removal, history);
    return Number.isFinite(next) ? next : undefined;
  }

  async #remove({ id, object_id, kept_seconds }: OldRow): Promise<void> {
    const object = predictionWithId(this.#env, object_id);
    const result = (await object?.remove(true)) ?? "unknown";
    if (result === "under way") return this.#rows.postpone(id, Date.now() + LOOK_MS);
    // The prediction's object never was or is gone, but its input may still be stored, unless it was a short
    // run.
    if (result === "unknown" && kept_seconds === null) await deleteAll(this.#env.FILES, id);
    this.#rows.markRemoved(id);
  }

  /**
   * Checks whether the prediction still is under way: the message with its end may have been lost, or it
   * never began.
   */
  async #check(row: PredictionRow, userId: string, now: number): Promise<void> {
    const object = predictionWithId(this.#env, row.object_id);
    const current = await object?.getRow();
    if (current?.id === row.id) {
      this.#rows.put(current, () => true);
      if (!isTerminal(current.status)) this.#rows.postpone(row.id, now + LOOK_MS);
      return;
    }
    // A prediction that is being created is asked again; one that has not begun by now never will.
    if (await object?.hasBegun()) return this.#rows.postpone(row.id, now + LOOK_MS);
    await deleteAll(this.#env.FILES, row.id);
    this.#rows.fail(row, userId, now);
  }

  /** A prediction that fails must not hold up the others: it is looked at again later. */
  async #each<Row extends OldRow>(rows: Row[], step: (row: Row) => Promise<void>): Promise<void> {
    const results = await Promise.allSettled(rows.map(step));
    for (const [n, result] of results.entries()) {
      const id = rows[n]?.id;
      if (result.status === "fulfilled" || id === undefined) continue;
      logger.warn("Prediction not looked at", { prediction_id: id, error: result.reason });
      this.#rows.postpone(id, Date.now() + LOOK_MS);
    }
  }
}

/**
 * Plans the removal of data of short runs. They set no alarm for it: the account removes the data. An index
 * by that time would cost each of them two rows more. So runs that were made and have ended within the same
 * minutes, and are kept equally long, share one row here: they are found by their ids, which begin with the
 * time.
 */

/**
 * Data is removed when that of all runs that share a row is due: at most 1 % of its time late, within these
 * bounds.
 */
const LONGEST_MS = 5 * 60_000;
const SHORTEST_MS = 1_000;

/** Predictions whose ids were made, and which have ended, from these times on, for some minutes. */
interface Removal {
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
  /** The removal that was planned last: usually it is the next one's, too. */
  #planned: Removal | undefined;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** @returns when the removal is due, unix ms */
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

  /** The next predictions of a removal after an id whose data may be there. */
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

  /** Predictions that ended before this time, unix ms, have no data any more. */
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
