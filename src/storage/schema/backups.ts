/** Backups that are made, and one that is restored: their progress. Their content is in R2. */
import { integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { BackupProgress, RestoreProgress } from "../../domain/backups/progress.ts";

export const backupRuns = sqliteTable("backup_runs", {
  id: text().primaryKey(),
  started_at: integer().notNull(),
  ended_at: integer(),
  progress: text({ mode: "json" }).$type<BackupProgress | RestoreProgress>().notNull(),
});

/**
 * The parts that a run has written, or restored. A part is added in the same transaction in which the run
 * moves on, so that of two runs at the same place one fails.
 */
export const backupParts = sqliteTable(
  "backup_parts",
  {
    run_id: text().notNull(),
    number: integer().notNull(),
    table: text().notNull(),
    rows: integer().notNull(),
    bytes: integer().notNull(),
    sha256: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.run_id, t.number] })],
);
