import { and, eq, isNull, ne, sql } from "drizzle-orm";
import type { BackupProgress, RestoreProgress } from "../../domain/backups/progress.ts";
import type { PartEntry } from "../../protocol/backup.ts";
import { type Database, runBatch } from "../database.ts";
import { backupParts, backupRuns } from "../schema/index.ts";

export type RunRow = typeof backupRuns.$inferSelect;

/** Finds the run that is under way, or else the one that began last. */
export const findLastRun = (db: Database): Promise<RunRow | undefined> =>
  db
    .select()
    .from(backupRuns)
    .orderBy(sql`${backupRuns.ended_at} IS NOT NULL`, sql`${backupRuns.started_at} DESC`)
    .limit(1)
    .get();

/** Begins a run and replaces the ended one. Fails as a duplicate if the run was begun already. */
export const beginRun = (db: Database, row: RunRow, first: Parameters<typeof runBatch>[1] = []) =>
  runBatch(db, [
    db.delete(backupRuns).where(ne(backupRuns.id, row.id)),
    db.delete(backupParts),
    db.insert(backupRuns).values(row),
    ...first,
  ]);

/**
 * Adds a part to the progress of a run.
 * @param others statements of the same transaction
 * @throws an error that `isDuplicate` recognises if the part was added meanwhile
 */
export const addPart = (
  db: Database,
  run: RunRow,
  part: PartEntry & { number: number },
  others: Parameters<typeof runBatch>[1] = [],
) =>
  runBatch(db, [
    ...others,
    db.insert(backupParts).values({ run_id: run.id, ...part }),
    setProgress(db, run, run.progress),
  ]);

export const setProgress = (
  db: Database,
  { id }: RunRow,
  progress: BackupProgress | RestoreProgress,
) =>
  db
    .update(backupRuns)
    .set({ progress })
    .where(and(eq(backupRuns.id, id), isNull(backupRuns.ended_at)));

export const listParts = (db: Database, { id }: RunRow): Promise<PartEntry[]> =>
  db
    .select({
      table: backupParts.table,
      rows: backupParts.rows,
      bytes: backupParts.bytes,
      sha256: backupParts.sha256,
    })
    .from(backupParts)
    .where(eq(backupParts.run_id, id))
    .orderBy(backupParts.number)
    .all();

export const endRun = (db: Database, { id }: RunRow, now: number) =>
  runBatch(db, [
    db.update(backupRuns).set({ ended_at: now }).where(eq(backupRuns.id, id)),
    db.delete(backupParts).where(eq(backupParts.run_id, id)),
  ]);

export const deleteRun = (db: Database, { id }: RunRow) =>
  runBatch(db, [
    db.delete(backupRuns).where(eq(backupRuns.id, id)),
    db.delete(backupParts).where(eq(backupParts.run_id, id)),
  ]);
