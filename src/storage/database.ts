/** D1 through drizzle. */

import { eq } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import { drizzle } from "drizzle-orm/d1";
import { keys } from "./schema/index.ts";

const connect = (d1: D1Database) => drizzle(d1, { casing: "snake_case" });
export type Database = ReturnType<typeof connect>;

const connected = new WeakMap<D1Database, Database>();

/**
 * Returns the database of a binding. It is made once, because it caches the columns' names: making one for
 * each prediction's row took 6 % of a no-op.
 */
export function database(d1: D1Database): Database {
  const db = connected.get(d1) ?? connect(d1);
  connected.set(d1, db);
  return db;
}

/**
 * Returns the copy that is nearest to the caller, where the database has any. It lags behind by any time, so
 * it serves what everybody may see, and never authorisation. Each request has its own, which continues from
 * the state that it has read.
 */
export function nearest(d1: D1Database): Database {
  const session = d1.withSession("first-unconstrained");
  return connect({
    prepare: (query) => session.prepare(query),
    batch: (statements) => session.batch(statements),
    exec: (query) => d1.exec(query),
    withSession: (constraint) => d1.withSession(constraint),
    dump: () => d1.dump(),
  });
}

/** Runs statements in one transaction and one round trip. */
export async function runBatch<Statement extends BatchItem<"sqlite">>(
  db: Database,
  statements: Statement[],
): Promise<Statement["_"]["result"][]> {
  const [first, ...rest] = statements;
  return first ? db.batch([first, ...rest]) : [];
}

/** Whether a write failed because the row already exists. */
export const isDuplicate = (error: unknown): boolean =>
  hasFailed(error, /UNIQUE constraint failed/);

/**
 * Whether an insert failed because a limit on rows is reached. Such an insert computes its own key
 * and gets NULL past the limit, so that two at once cannot both take the last place.
 */
export const isLimitReached = (error: unknown): boolean =>
  hasFailed(
    error,
    /NOT NULL constraint failed: (models\.id|versions\.number|tokens\.id|runners\.id|deployments\.id)\b/,
  );

/** Whether a write violated a constraint on one of these columns, such as `logins.email`. */
export const failedOn = (
  error: unknown,
  constraint: "UNIQUE" | "NOT NULL" | "FOREIGN KEY",
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

export const findKey = (db: Database, name: string) =>
  db.select().from(keys).where(eq(keys.name, name)).get();
