/** Counts of the predictions of each model by account, as accounts report them. */
import { and, eq, gte, sql } from "drizzle-orm";
import type { CountMessage } from "../../protocol/queue.ts";
import { type Database, runBatch } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { accountCounts, listings, modelCounts, users } from "../schema/index.ts";

/** Rows of a statement, which takes 100 parameters: a row needs 4. */
const ROWS_A_STATEMENT = 25;

/**
 * Writes counts. They only rise, so an older count changes nothing. Triggers add them up for each model. A
 * count that is reported again is written even if it is the same: the account was active.
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

/** Deletes the counts of an account. Models keep counting its predictions. */
export const deleteCounts = (db: Database, userId: string, limit: number) =>
  db.delete(accountCounts).where(
    sql`(${accountCounts.user_id}, ${accountCounts.model_id}) IN (
      SELECT user_id, model_id FROM account_counts WHERE user_id = ${userId} LIMIT ${limit})`,
  );

/**
 * Lists each model whose count an account has reported since then, oldest first. A count that is reported
 * again meanwhile moves towards the end, so that no page misses it. Null for a deleted account.
 */
export function listReportedSince(db: Database, since: number, keyset: Keyset) {
  const { user_id, model_id, told_at } = accountCounts;
  const { where, order, limit } = range([told_at, user_id, model_id], "asc", keyset);
  return db
    .select({ user_id, model_id, told_at, user: users })
    .from(accountCounts)
    .leftJoin(users, eq(users.id, user_id))
    .where(and(gte(told_at, since), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/**
 * Copies changed counts to the listings. With IN, SQLite finds the changed counts first, by their
 * index; with a join it would scan all listings.
 */
export const syncListings = (db: Database) => [
  db.run(sql`UPDATE ${listings} SET predictions_count =
      (SELECT c.predictions_count FROM ${modelCounts} AS c WHERE c.model_id = ${listings.model_id})
    WHERE model_id IN
      (SELECT model_id FROM ${modelCounts} WHERE unlisted)`),
  db.run(sql`UPDATE ${modelCounts} SET listed_count = predictions_count, unlisted = false
    WHERE unlisted`),
];
