/** The audit log: entries until the sweep moves them, and the objects that have the rest. */
import { index, integer, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";

/** The columns of an entry, here and in the audit objects. */
export const entryColumns = {
  /** Empty: it concerns no account. No foreign key, since entries outlive their account. */
  account_id: text().notNull(),
  action: text().$type<EntryRow["action"]>().notNull(),
  actor_type: text().$type<EntryRow["actor_type"]>().notNull(),
  actor_id: text().notNull(),
  actor_name: text().notNull(),
  targets: text().notNull(),
  context: text().notNull(),
  changes: text(),
  occurred_at: integer().notNull(),
};

/**
 * Entries since the last sweep. The transaction of a change writes them, and the sweep deletes them when the
 * audit objects have them. Names of users are resolved by the statement that writes them.
 */
export const auditEntries = sqliteTable(
  "audit_entries",
  { id: text().primaryKey(), ...entryColumns },
  (t) => [index("audit_entries_account").on(t.account_id, t.id)],
);

/** The audit object of each account with entries, and of the deployment (empty id). */
export const auditChains = sqliteTable("audit_chains", {
  account_id: text().primaryKey(),
  object_id: text().notNull(),
  /** Identifies the SECRET_KEY that signed its head (domain/audit/chain.ts). */
  key_id: text().notNull(),
});

/** Failed sign-ins by day (UTC): they are counted, since whoever guesses could fill a log. */
export const failedSignIns = sqliteTable("failed_sign_ins", {
  day: text().primaryKey(),
  count: integer().notNull(),
});
