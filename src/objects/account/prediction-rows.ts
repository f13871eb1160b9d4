/** Writes the index of predictions, and counts usage. All writes of a call are one transaction. */

import { asHistory } from "../../domain/backups/history-row.ts";
import {
  ACCOUNT_TABLE_NAMES,
  ACCOUNT_TABLES,
  type AccountPosition,
  type AccountTable,
} from "../../domain/backups/progress.ts";
import type { PredictionRow, PredictionUpdate } from "../../domain/predictions/prediction-row.ts";
import { isTerminal } from "../../domain/predictions/status.ts";
import { type Bindings, settings } from "../../env.ts";
import {
  type AccountPage,
  accountFacts,
  accountPage,
  type StoredPrediction,
  type StoredRow,
} from "../../protocol/backup.ts";
import type { PredictionError } from "../../protocol/prediction.ts";
import type { AccountCopy } from "../stubs/account.ts";
import { newPredictionId } from "../stubs/prediction.ts";
import type { Ledger } from "./ledger.ts";
import type { StoredFiles } from "./stored-files.ts";
import { addUsage, type EndedRow } from "./usage.ts";

const COLUMNS = [
  "id",
  "object_id",
  "model_id",
  "model_owner",
  "model_name",
  "version_number",
  "deployment_id",
  "deployment",
  "release",
  "stream",
  "status",
  "created_at",
  "updated_at",
  "setup_time",
  "execution_time",
  "cost",
  "cost_parts",
  "error",
  "metrics",
  "data_removed",
  "revision",
  "due_at",
  "kept_seconds",
  "token_id",
  "token_name",
  "client_id",
  "maker",
  "created_by",
  "hardware",
  "waits_again",
] as const satisfies (keyof PredictionRow)[];

const INSERT = `INSERT INTO predictions (${COLUMNS.join(", ")}) VALUES (${COLUMNS.map(() => "?").join(", ")})`;

/**
 * The columns that change in the life of a prediction. `object_id` changes if the first object died before
 * the prediction began.
 */
const UPDATE = `UPDATE predictions SET object_id = ?, status = ?, updated_at = ?, setup_time = ?,
  execution_time = ?, cost = ?, cost_parts = ?, error = ?, metrics = ?, revision = ?, due_at = ?, kept_seconds = ?,
  waits_again = ?
  WHERE id = ?`;

type Ended = EndedRow & Pick<PredictionUpdate, "id" | "created_at" | "client_id">;

/** The error of a row whose prediction has never begun, and never will. */
export const NEVER_BEGUN = JSON.stringify({
  source: "internal",
  message: "The prediction could not be created.",
  detail: null,
} satisfies PredictionError);

type Before = Pick<
  PredictionRow,
  | "object_id"
  | "status"
  | "revision"
  | "updated_at"
  | "setup_time"
  | "execution_time"
  | "metrics"
  | "cost"
  | "model_id"
  | "version_number"
> & { data_removed: number };

export class PredictionRows {
  readonly #sql: SqlStorage;
  readonly #files: StoredFiles;
  readonly #ledger: Ledger;
  readonly #usageDay: (endedAt: number) => string;

  constructor(
    sql: SqlStorage,
    files: StoredFiles,
    ledger: Ledger,
    usageDay: (endedAt: number) => string,
  ) {
    this.#sql = sql;
    this.#files = files;
    this.#ledger = ledger;
    this.#usageDay = usageDay;
  }

  /**
   * Writes the row, unless later events were already written.
   * @param isGone whether a row that is missing existed before
   * @returns gone: nothing is written
   */
  put(row: PredictionUpdate, isGone: (id: string) => boolean): "added" | "known" | "gone" {
    const before = this.#before(row.id);
    if (!before) {
      if (isGone(row.id)) return "gone";
      this.#sql.exec(INSERT, ...COLUMNS.map((name) => storedOf(row[name])));
      if (isTerminal(row.status)) this.#settle(row);
      return "added";
    }
    // The first of two objects with the same prediction has died before it began: its late rows have an
    // earlier revision than any row of the second one.
    if (row.revision > before.revision) {
      this.#sql.exec(
        UPDATE,
        row.object_id,
        row.status,
        row.updated_at,
        row.setup_time,
        row.execution_time,
        row.cost,
        row.cost_parts,
        row.error,
        row.metrics,
        row.revision,
        row.due_at,
        row.kept_seconds,
        storedOf(row.waits_again),
        row.id,
      );
      // A prediction that has fallen back was run by another version.
      if (row.model_id !== before.model_id || row.version_number !== before.version_number)
        this.#sql.exec(
          `UPDATE predictions SET model_id = ?, model_owner = ?, model_name = ?, version_number = ?, hardware = ?
          WHERE id = ?`,
          row.model_id,
          row.model_owner,
          row.model_name,
          row.version_number,
          row.hardware,
          row.id,
        );
      // The end that the first object reported was never stored.
      const isAnother = before.object_id !== row.object_id && isTerminal(before.status);
      if (isAnother) this.#takeBack({ ...row, ...before });
      if (isTerminal(row.status) && (isAnother || !isTerminal(before.status))) this.#settle(row);
    }
    if (row.data_removed && before.data_removed === 0) this.markRemoved(row.id);
    return "known";
  }

  markRemoved(id: string): void {
    this.#sql.exec("UPDATE predictions SET data_removed = 1, due_at = NULL WHERE id = ?", id);
    this.#files.removeOf(id);
  }

  /** Marks a row as failed: its prediction never ran, and the caller got an error. */
  fail(row: PredictionRow, userId: string, now: number): void {
    this.put(
      {
        ...row,
        status: "failed",
        updated_at: now,
        error: NEVER_BEGUN,
        revision: row.revision + 1,
        data_removed: true,
        due_at: null,
        kept_seconds: null,
        user_id: userId,
        cost: 0,
        cost_parts: null,
      },
      () => true,
    );
  }

  /** Deletes the rows up to an id, with those of their webhooks. */
  deleteTo(last: string): void {
    this.#sql.exec("DELETE FROM predictions WHERE id <= ?", last);
    this.#sql.exec("DELETE FROM deliveries WHERE prediction_id <= ?", last);
    this.#files.removeOf("", last);
  }

  /** Sets when the row is looked at again. */
  postpone(id: string, dueAt: number): void {
    this.#sql.exec("UPDATE predictions SET due_at = ? WHERE id = ?", dueAt, id);
  }

  /**
   * Deletes the row of a prediction that was not created, unless another object has created it meanwhile.
   * @returns the model of the prediction
   */
  discard(id: string, objectId: string): string | undefined {
    this.#files.removeOf(id);
    this.#ledger.release(id, objectId);
    return this.#sql
      .exec<{ model_id: string }>(
        `DELETE FROM predictions WHERE id = ? AND object_id = ? AND status = 'pending'
        RETURNING model_id`,
        id,
        objectId,
      )
      .toArray()[0]?.model_id;
  }

  #settle(row: Ended): void {
    this.addUsage(row);
    this.#ledger.settle({ ...row, cost: row.cost ?? 0 }, Date.now());
  }

  #takeBack(row: Ended): void {
    this.addUsage(row, -1);
    this.#ledger.takeBack({ ...row, cost: row.cost ?? 0 }, Date.now());
  }

  addUsage(row: EndedRow, sign: 1 | -1 = 1): void {
    addUsage(this.#sql, this.#usageDay(row.updated_at), row, sign);
  }

  #before(id: string): Before | undefined {
    return this.#sql
      .exec<Before & Record<string, SqlStorageValue>>(
        `SELECT object_id, status, revision, updated_at, setup_time, execution_time, metrics, cost,
        data_removed, model_id, version_number FROM predictions WHERE id = ?`,
        id,
      )
      .toArray()[0];
  }
}

const storedOf = (value: PredictionRow[keyof PredictionRow]) =>
  value === undefined || typeof value === "boolean" ? Number(value ?? false) : value;

/** Reads an account's rows for a backup, and writes them into the account's new object. */

const rowsSchema = accountPage.pick({
  usage: true,
  counts: true,
  budgets: true,
  predictions: true,
});
type Rows = Pick<AccountPage, AccountTable>;
type Scalars = Record<string, string | number | null>;

/** Returns the next rows, of so many characters in all, and what the object remembers. */
export function copyAccount(
  { sql, kv }: DurableObjectStorage,
  user_id: string,
  from: AccountPosition | null,
  maxChars: number,
): AccountCopy {
  const { rows, next } = readRows(sql, from, maxChars);
  const known = Object.keys(accountFacts.shape).map((name) => [name, kv.get(name)]);
  const facts = accountFacts.parse(Object.fromEntries(known));
  return { page: { user_id, facts, ...rows }, next };
}

/** The characters that numbers and marks of JSON take in a row, about. */
const ROW_CHARS = 300;

/** Returns the next rows. A small account's rows fit into one page, as of one moment. */
function readRows(
  sql: SqlStorage,
  from: AccountPosition | null,
  maxChars: number,
): { rows: Rows; next: AccountPosition | null } {
  const rows: Record<AccountTable, StoredRow[]> = {
    usage: [],
    counts: [],
    budgets: [],
    predictions: [],
  };
  const first = from ? ACCOUNT_TABLE_NAMES.indexOf(from.table) : 0;
  const done = (next: AccountPosition | null) => ({ rows: rowsSchema.parse(rows), next });
  let chars = 0;
  for (const table of ACCOUNT_TABLE_NAMES.slice(first)) {
    const { key, columns } = ACCOUNT_TABLES[table];
    const after = table === from?.table ? from.after : null;
    const beyond = after ? `WHERE (${key}) > (${after.map(() => "?")})` : "";
    const statement = `SELECT ${columns} FROM ${table} ${beyond} ORDER BY ${key}`;
    for (const row of sql.exec<Scalars>(statement, ...(after ?? []))) {
      if (chars > maxChars) {
        const last = rows[table].at(-1);
        return done({ table, after: last ? key.map((name) => last[name] ?? "") : after });
      }
      rows[table].push(row);
      chars += ROW_CHARS + charsOf(row);
    }
  }
  return done(null);
}

const charsOf = (row: StoredRow) =>
  Object.values(row).reduce<number>(
    (sum, value) => sum + (typeof value === "string" ? value.length : 0),
    0,
  );

/**
 * Writes the rows that are not there yet. The object of a restored prediction has nothing.
 * @param at when the backup was made, unix ms
 * @returns the predictions that have failed by that
 */
export function writeRows(
  sql: SqlStorage,
  env: Bindings,
  { usage, counts, budgets, predictions }: Rows,
  at: number,
): StoredPrediction[] {
  const retentionMs = settings(env).retentionSeconds * 1_000;
  for (const row of usage) insert(sql, "usage", row);
  for (const row of counts) insert(sql, "counts", row);
  for (const row of budgets) insert(sql, "budgets", row);
  return predictions.flatMap((row) => {
    const left = asHistory(row, at, retentionMs);
    const isNew = insert(sql, "predictions", {
      ...left,
      object_id: newPredictionId(env).toString(),
    });
    return isNew && left.status !== row.status ? [left] : [];
  });
}

/** @returns whether the row was not there */
function insert(sql: SqlStorage, table: AccountTable, row: StoredRow): boolean {
  const { columns } = ACCOUNT_TABLES[table];
  const statement = `INSERT OR IGNORE INTO ${table} (${columns})
    VALUES (${columns.map(() => "?")}) RETURNING 1`;
  return sql.exec(statement, ...columns.map((name) => row[name] ?? null)).toArray().length > 0;
}
