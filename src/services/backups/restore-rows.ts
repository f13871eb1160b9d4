/** Writes a part of a backup into the deployment, and reports the rows that were left out. */
import type { BatchItem } from "drizzle-orm/batch";
import type { LeftOut } from "../../domain/backups/progress.ts";
import { accountAt, newAccountObjectId } from "../../objects/account/stub.ts";
import type { AccountPage, StoredRow } from "../../protocol/backup.ts";
import { setAccountObject } from "../../storage/accounts/users.ts";
import { checkRows, insertRows, keyOf } from "../../storage/backups/rows.ts";
import type { BackupTable } from "../../storage/backups/tables.ts";
import { isDuplicate, runBatch } from "../../storage/database.ts";
import { rememberAccountObject } from "../accounts/account-object.ts";
import type { Services } from "../services.ts";

/** The characters of one statement: D1 takes a parameter of 2 MB, and a character may have 4 bytes. */
const STATEMENT_CHARS = 400_000;

const ORPHAN = "it refers to something that is not there";
const DUPLICATE = "another one has what must be unique";
const NO_USER = "its user is not there, or was deleted";

export interface Restored {
  rows: number;
  leftOut: LeftOut[];
}

/** Statements for the rows that fit; rows that are there already need none. */
export async function restoreTable(
  { db }: Services,
  table: BackupTable,
  rows: StoredRow[],
): Promise<Restored & { statements: BatchItem<"sqlite">[] }> {
  const leftOut: LeftOut[] = [];
  const statements: BatchItem<"sqlite">[] = [];
  for (const some of chunksOf(rows.map((row) => asNew(table, row)))) {
    const { present, orphans } = await checkRows(db, table, some);
    for (const n of orphans) leftOut.push(leftOutRow(table, some[n], ORPHAN));
    const isSum = table.name === "model_counts";
    const fitting = some.filter((_, n) => !orphans.has(n) && (isSum || !present.has(n)));
    if (fitting.length > 0) statements.push(insertRows(db, table, fitting));
  }
  return { rows: rows.length - leftOut.length, leftOut, statements };
}

/** Writes row by row a part of which some row is refused. */
export async function restoreOneByOne(
  services: Services,
  table: BackupTable,
  rows: StoredRow[],
): Promise<Restored> {
  const leftOut: LeftOut[] = [];
  for (const row of rows) {
    const one = await restoreTable(services, table, [row]);
    leftOut.push(...one.leftOut);
    try {
      await runBatch(services.db, one.statements);
    } catch (error) {
      if (!isDuplicate(error)) throw error;
      leftOut.push(leftOutRow(table, row, DUPLICATE));
    }
  }
  return { rows: rows.length - leftOut.length, leftOut };
}

/**
 * Restores accounts into new objects: the former ones belong to another deployment.
 * @param at when the backup was made
 */
export async function restoreAccounts(
  services: Services,
  pages: AccountPage[],
  at: number,
): Promise<Restored> {
  const leftOut: LeftOut[] = [];
  let rows = 0;
  for (const page of pages) {
    const { user_id, usage, counts, predictions } = page;
    const objectId = await setAccountObject(services.db, user_id, newAccountObjectId(services.env));
    if (objectId === undefined) {
      leftOut.push({ table: "accounts", key: JSON.stringify([user_id]), reason: NO_USER });
      continue;
    }
    rememberAccountObject(user_id, objectId);
    await accountAt(services.env, objectId).restore(page, at);
    rows += usage.length + counts.length + predictions.length;
  }
  return { rows, leftOut };
}

/** Columns that refer to objects are emptied: the new deployment makes its own objects. */
const OF_OBJECTS: Record<string, StoredRow> = {
  users: { account_object: null },
  pools: { made_at: null },
};
const asNew = ({ name }: BackupTable, row: StoredRow): StoredRow => ({
  ...row,
  ...OF_OBJECTS[name],
});

const leftOutRow = (table: BackupTable, row: StoredRow = {}, reason: string): LeftOut => ({
  table: table.name,
  key: JSON.stringify(keyOf(table, row)),
  reason,
});

function chunksOf(rows: StoredRow[]): StoredRow[][] {
  const chunks: StoredRow[][] = [];
  let room = 0;
  for (const row of rows) {
    const chars = JSON.stringify(row).length;
    const last = chunks.at(-1);
    if (last && chars <= room) last.push(row);
    else {
      chunks.push([row]);
      room = STATEMENT_CHARS;
    }
    room -= chars;
  }
  return chunks;
}
