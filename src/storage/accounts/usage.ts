import { and, desc, eq, gte, inArray, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { usage } from "../schema/index.ts";

const sums = {
  predictions: sql<number>`sum(${usage.predictions})`,
  failed: sql<number>`sum(${usage.failed})`,
  execution_seconds: sql<number>`sum(${usage.execution_seconds})`,
};

const since = (userId: string, day: string) => and(eq(usage.user_id, userId), gte(usage.day, day));

/** The models an account has run most since a day. */
export const findMostUsed = (db: Database, userId: string, day: string, limit: number) =>
  db
    // SQLite takes the other columns from the row with the max(): the latest name.
    .select({ model_id: usage.model_id, model: usage.model, last: sql`max(${usage.day})` })
    .from(usage)
    .where(since(userId, day))
    .groupBy(usage.model_id)
    .orderBy(desc(sums.predictions), usage.model_id)
    .limit(limit)
    .all();

/** Usage by day: the named models each, all others together under the id ''. */
export function listUsage(db: Database, userId: string, day: string, named: string[]) {
  const model_id = sql<string>`iif(${inArray(usage.model_id, named)}, ${usage.model_id}, '')`;
  return db
    .select({ day: usage.day, model_id, ...sums })
    .from(usage)
    .where(since(userId, day))
    .groupBy(usage.day, model_id)
    .all();
}
