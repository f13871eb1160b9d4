/** The subjects of an account to which a hard budget applies. */
import { and, eq, type SQL, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { insertEntry } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { budgeted } from "../schema/index.ts";

export const selectBudgeted = (db: Database, accountId: string | SQL) =>
  db.select({ subject: budgeted.subject }).from(budgeted).where(eq(budgeted.account_id, accountId));

const mark = (db: Database, account_id: string, subject: string) =>
  db.insert(budgeted).values({ account_id, subject }).onConflictDoNothing();

/** Notes that a hard budget is about to apply to a subject, with the entry of the audit log. */
export async function markRecorded(
  db: Database,
  accountId: string,
  subject: string,
  entry: EntryRow,
): Promise<void> {
  await db.batch([mark(db, accountId, subject), insertEntry(db, entry)]);
}

/** Notes that a hard budget applies to a subject. */
export async function markBudgeted(
  db: Database,
  accountId: string,
  subject: string,
): Promise<void> {
  await mark(db, accountId, subject);
}

/** Notes that no hard budget applies to these subjects any more. */
export async function unmarkBudgeted(
  db: Database,
  accountId: string,
  subjects: string[],
): Promise<void> {
  const { account_id, subject } = budgeted;
  const isOne = sql`${subject} IN (SELECT value FROM json_each(${JSON.stringify(subjects)}))`;
  await db.delete(budgeted).where(and(eq(account_id, accountId), isOne));
}
