/** Which accounts were active: those that have told a count since. */
import { and, eq, gte } from "drizzle-orm";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { accountCounts, users } from "../schema/index.ts";

/**
 * Each model that an account has told of since then, oldest first. What is told again meanwhile moves
 * towards the end, so that no page misses it. Null for an account that is gone.
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
