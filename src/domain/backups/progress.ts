/** The progress of a backup, and of a restore. */

import { budgetRow, countRow, predictionRow, usageRow } from "../../protocol/backup.ts";
import { USAGE_KEY } from "../accounts/usage.ts";
import type { Key } from "../cursor.ts";

/** The position in an account's object: up to this row of one of its tables. */
export interface AccountPosition {
  table: AccountTable;
  after: Key | null;
}

/** The next position: rows of a table, or of the objects of accounts. Null: nothing is left. */
export type BackupPosition =
  | { table: string; after: Key | null }
  | { user: string; account: AccountPosition | null }
  | null;

export interface BackupProgress {
  kind: "backup";
  key_id: string;
  parts: number;
  position: BackupPosition;
  failures: number;
  /** Ids of accounts whose objects did not answer. */
  left_out: string[];
}

export interface LeftOut {
  table: string;
  key: string;
  reason: string;
}

export interface RestoreProgress {
  kind: "restore";
  parts: number;
  rows: number;
  /** How many rows were left out, and the first of them. */
  left_out: number;
  examples: LeftOut[];
}

export const ACCOUNT_TABLES = {
  usage: {
    key: USAGE_KEY,
    columns: Object.keys(usageRow.shape),
  },
  counts: { key: ["model_id"], columns: Object.keys(countRow.shape) },
  budgets: { key: ["id"], columns: Object.keys(budgetRow.shape) },
  predictions: { key: ["id"], columns: Object.keys(predictionRow.shape) },
};

export type AccountTable = keyof typeof ACCOUNT_TABLES;

export const ACCOUNT_TABLE_NAMES = [
  "usage",
  "counts",
  "budgets",
  "predictions",
] as const satisfies AccountTable[];
