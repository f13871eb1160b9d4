/** Reads what an account has for a backup, and writes it into the account's new object. */
import {
  ACCOUNT_TABLE_NAMES,
  ACCOUNT_TABLES,
  type AccountTable,
} from "../../domain/backups/account-tables.ts";
import { asHistory } from "../../domain/backups/history-row.ts";
import type { AccountPosition } from "../../domain/backups/progress.ts";
import { type Bindings, settings } from "../../env.ts";
import {
  type AccountPage,
  accountFacts,
  accountPage,
  type StoredPrediction,
  type StoredRow,
} from "../../protocol/backup.ts";
import { newPredictionId } from "../prediction/stub.ts";
import type { AccountCopy } from "./rpc-types.ts";

const rowsSchema = accountPage.pick({ usage: true, counts: true, predictions: true });
type Rows = Pick<AccountPage, AccountTable>;
type Scalars = Record<string, string | number | null>;

/** The next rows, of so many characters in all, and what the object remembers. */
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

/** What numbers and marks of JSON take, about. */
const ROW_CHARS = 300;

/** Of a small account all, as of one moment. */
function readRows(
  sql: SqlStorage,
  from: AccountPosition | null,
  maxChars: number,
): { rows: Rows; next: AccountPosition | null } {
  const rows: Record<AccountTable, StoredRow[]> = { usage: [], counts: [], predictions: [] };
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
 * Writes the rows that are not there yet. What is left of a prediction's object is one that has nothing.
 * @param at when the backup was made, unix ms
 * @returns the predictions that have failed by that
 */
export function writeRows(
  sql: SqlStorage,
  env: Bindings,
  { usage, counts, predictions }: Rows,
  at: number,
): StoredPrediction[] {
  const retentionMs = settings(env).retentionSeconds * 1_000;
  for (const row of usage) insert(sql, "usage", row);
  for (const row of counts) insert(sql, "counts", row);
  return predictions.flatMap((row) => {
    const left = asHistory(row, at, retentionMs);
    const isNew = insert(sql, "predictions", {
      ...left,
      object_id: newPredictionId(env).toString(),
    });
    return isNew && left.status !== row.status ? [left] : [];
  });
}

/** @returns whether it was not there */
function insert(sql: SqlStorage, table: AccountTable, row: StoredRow): boolean {
  const { columns } = ACCOUNT_TABLES[table];
  const statement = `INSERT OR IGNORE INTO ${table} (${columns})
    VALUES (${columns.map(() => "?")}) RETURNING 1`;
  return sql.exec(statement, ...columns.map((name) => row[name] ?? null)).toArray().length > 0;
}
