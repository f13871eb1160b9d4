/** D1 through drizzle. */
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import * as schema from "./schema/index.ts";

export const database = (d1: D1Database) => drizzle(d1, { schema, casing: "snake_case" });
export type Database = ReturnType<typeof database>;

/** What each statement answers: all in one transaction and one round trip. */
export async function allOf<Statement extends BatchItem<"sqlite">>(
  db: Database,
  statements: Statement[],
): Promise<Statement["_"]["result"][]> {
  const [first, ...rest] = statements;
  return first ? db.batch([first, ...rest]) : [];
}

/** Whether a write was refused because the row is there already. */
export const isDuplicate = (error: unknown): boolean =>
  hasFailed(error, /UNIQUE constraint failed/);

/**
 * Whether an insert was refused because there are as many rows as may be: beyond that the key that
 * it finds for itself is NULL, and so two at once cannot both have the last place.
 */
export const isFull = (error: unknown): boolean =>
  hasFailed(
    error,
    /NOT NULL constraint failed: (models\.id|versions\.number|tokens\.id|runners\.id)\b/,
  );

/** Whether a constraint on one of these columns has refused a write: `logins.email`. */
export const failedOn = (
  error: unknown,
  constraint: "UNIQUE" | "NOT NULL",
  ...columns: string[]
): boolean => {
  const names = columns.join("|").replaceAll(".", "\\.");
  return hasFailed(error, new RegExp(`${constraint} constraint failed: (${names})\\b`));
};

function hasFailed(error: unknown, message: RegExp): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (message.test(cause.message)) return true;
  }
  return false;
}
