/** How many predictions of each model each account has made, as the accounts tell it. */
import { sql } from "drizzle-orm";
import type { CountMessage } from "../../protocol/queue.ts";
import { type Database, runBatch } from "../database.ts";
import { accountCounts } from "../schema/index.ts";

/** A statement takes 100 parameters, and a row needs 4. */
const ROWS_A_STATEMENT = 25;

/**
 * Figures only rise: an older one changes nothing. Triggers add them up for each model. One that is told
 * again has fallen and risen meanwhile: the account was active.
 */
export async function writeCounts(
  db: Database,
  counts: CountMessage[],
  told_at: number,
): Promise<void> {
  const rows = counts.map((count) => ({ ...count, told_at }));
  const statements = Array.from({ length: Math.ceil(rows.length / ROWS_A_STATEMENT) }, (_, n) =>
    db
      .insert(accountCounts)
      .values(rows.slice(n * ROWS_A_STATEMENT, (n + 1) * ROWS_A_STATEMENT))
      .onConflictDoUpdate({
        target: [accountCounts.user_id, accountCounts.model_id],
        set: { predictions: sql`excluded.predictions`, told_at: sql`excluded.told_at` },
        setWhere: sql`${accountCounts.predictions} <= excluded.predictions`,
      }),
  );
  if (statements.length > 0) await runBatch(db, statements);
}

/** Models keep counting them. */
export const deleteCounts = (db: Database, userId: string, limit: number) =>
  db.delete(accountCounts).where(
    sql`(${accountCounts.user_id}, ${accountCounts.model_id}) IN (
      SELECT user_id, model_id FROM account_counts WHERE user_id = ${userId} LIMIT ${limit})`,
  );
