/** The accounts that were active: those that have reported a count since a time. */
import { and, eq, gte } from "drizzle-orm";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { accountCounts, users } from "../schema/index.ts";

/**
 * Lists each model whose count an account has reported since then, oldest first. A count that is reported
 * again meanwhile moves towards the end, so that no page misses it. Null for a deleted account.
 */
export function listToldSince(db: Database, since: number, keyset: Keyset) {
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
