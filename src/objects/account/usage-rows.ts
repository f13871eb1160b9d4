/** Reads the usage of an account. */
import { desc, gte, inArray, sql } from "drizzle-orm";
import { type Keyset, range } from "../../storage/keyset.ts";
import type { AccountDatabase } from "./prediction-lists.ts";
import { usage } from "./tables.ts";

const sums = {
  predictions: sql<number>`sum(${usage.predictions})`,
  failed: sql<number>`sum(${usage.failed})`,
  execution_seconds: sql<number>`sum(${usage.execution_seconds})`,
  price: sql<number>`sum(${usage.price})`,
};

/** The models an account has run most since a day. */
export const selectMostUsed = (db: AccountDatabase, day: string, limit: number) =>
  db
    // SQLite takes the other columns from the row with the max(): the latest name.
    .select({ model_id: usage.model_id, model: usage.model, last: sql`max(${usage.day})` })
    .from(usage)
    .where(gte(usage.day, day))
    .groupBy(usage.model_id)
    .orderBy(desc(sums.predictions), usage.model_id)
    .limit(limit);

/** The tokens with which an account has run most since a day. */
export const selectMostUsedTokens = (db: AccountDatabase, day: string, limit: number) =>
  db
    .select({ token_id: usage.token_id, ...sums })
    .from(usage)
    .where(gte(usage.day, day))
    .groupBy(usage.token_id)
    .orderBy(desc(sums.predictions), usage.token_id)
    .limit(limit);

/** All of it, in the order of its key. */
export function selectUsagePage(db: AccountDatabase, keyset: Keyset) {
  const { where, order, limit } = range([usage.day, usage.model_id, usage.token_id], "asc", keyset);
  return db
    .select()
    .from(usage)
    .where(where)
    .orderBy(...order)
    .limit(limit);
}

/** Usage by day: the named models each, all others together under the id ''. */
export function selectUsage(db: AccountDatabase, day: string, named: string[]) {
  const model_id = sql<string>`iif(${inArray(usage.model_id, named)}, ${usage.model_id}, '')`;
  return db
    .select({ day: usage.day, model_id, ...sums })
    .from(usage)
    .where(gte(usage.day, day))
    .groupBy(usage.day, model_id);
}
