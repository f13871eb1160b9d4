/** D1 through drizzle. */
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import * as schema from "./schema.ts";

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
export function isDuplicate(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (cause.message.includes("UNIQUE constraint failed")) return true;
  }
  return false;
}
