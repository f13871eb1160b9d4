/** Entries of the audit log in D1, until the sweep moves them to the audit objects. */
import { and, asc, desc, eq, gt, gte, inArray, lt, ne, type SQL, sql } from "drizzle-orm";
import type { BatchItem } from "drizzle-orm/batch";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { firstIdAt } from "../../lib/hex.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { auditChains, auditEntries, failedSignIns } from "../schema/audit.ts";

/** An entry, some fields of which only the statement knows. */
type Inserted = { [Field in keyof EntryRow]: EntryRow[Field] | SQL };

/** The name of an actor is that of the user at the time, unless it is known already. */
const insert = (db: Database, row: Inserted, rest: SQL) =>
  db.insert(auditEntries).select(sql`SELECT
    ${row.id}, ${row.account_id}, ${row.action}, ${row.actor_type}, ${row.actor_id},
    coalesce(nullif(${row.actor_name}, ''), (SELECT username FROM users WHERE id = ${row.actor_id}), ''),
    ${row.targets}, ${row.context}, ${row.changes}, ${row.occurred_at} ${rest}`);

/** A statement that records an entry, for a batch that is one change as a whole or fails. */
export const insertEntry = (db: Database, row: EntryRow) => insert(db, row, sql``);

/** A statement that records an entry if the statement before it in the batch has changed a row. */
export const insertIfChanged = (db: Database, row: Inserted) =>
  insert(db, row, sql`WHERE changes() > 0`);

/** A statement that records an entry if a condition holds by then. */
export const insertIf = (db: Database, row: EntryRow, condition: SQL) =>
  insert(db, row, sql`WHERE ${condition}`);

/**
 * A statement that records a change of the role of some members, each in the log of the organization, before it
 * is made.
 * @param to null: they are removed
 */
export const insertForMembers = (db: Database, row: EntryRow, which: SQL, to: SQL | null) =>
  insert(
    db,
    {
      ...row,
      id: sql`substr(${row.id}, 1, 24) || lower(hex(randomblob(6)))`,
      account_id: sql`organization_id`,
      changes: sql`json_object('before', json_object('role', role), 'after', json_object('role', ${to}))`,
    },
    sql`FROM members WHERE ${which}`,
  );

/** Makes a change and records it, in one transaction. @returns the result of the change */
export async function changeRecorded<Change extends BatchItem<"sqlite">>(
  db: Database,
  change: Change,
  row: EntryRow,
): Promise<Change["_"]["result"]> {
  const [result] = await db.batch([change, insertIfChanged(db, row)]);
  return result;
}

/** The limits of a list of entries. In a list of all accounts, `account_id` is undefined. */
export interface EntryFilter {
  account_id?: string | undefined;
  action?: string | undefined;
  /** The name or the id of the actor, and of a target. */
  actor?: string | undefined;
  target?: string | undefined;
  /** Unix ms: from `after` on, until `before`. */
  after?: number | undefined;
  before?: number | undefined;
}

/** The part of a filter that is a range of an index. The audit objects have the same columns, and use it too. */
export const bounds = ({ account_id, after, before }: EntryFilter): (SQL | undefined)[] => [
  account_id === undefined ? undefined : eq(auditEntries.account_id, account_id),
  after === undefined ? undefined : gte(auditEntries.id, firstIdAt(after)),
  before === undefined ? undefined : lt(auditEntries.id, firstIdAt(before)),
];

/** The part of a filter that is checked for each row. */
export function checks({ action, actor, target }: EntryFilter): SQL[] {
  const { action: name, actor_id, actor_name, targets } = auditEntries;
  const kind = action?.endsWith("*") ? action.slice(0, -1) : undefined;
  return [
    kind !== undefined && sql`substr(${name}, 1, ${kind.length}) = ${kind}`,
    action !== undefined && kind === undefined && sql`${name} = ${action}`,
    actor !== undefined && sql`${actor} IN (${actor_id}, ${actor_name})`,
    target !== undefined &&
      sql`EXISTS (SELECT 1 FROM json_each(${targets}) WHERE ${target} IN (value ->> 'id', value ->> 'name'))`,
  ].filter((check) => check !== false);
}

/** Lists entries that the sweep has not moved, the newest first: at most those of some minutes. */
export function listEntries(db: Database, filter: EntryFilter, keyset: Keyset) {
  const { where, order, limit } = range([auditEntries.id], "desc", keyset);
  return db
    .select()
    .from(auditEntries)
    .where(and(where, ...bounds(filter), ...checks(filter)))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export const countEntries = (db: Database, account_id: string | undefined) =>
  db.$count(
    auditEntries,
    account_id === undefined ? undefined : eq(auditEntries.account_id, account_id),
  );

/** Lists entries to move, the oldest first. */
export const listToMove = (db: Database, after: string, limit: number) =>
  db
    .select()
    .from(auditEntries)
    .where(gt(auditEntries.id, after))
    .orderBy(asc(auditEntries.id))
    .limit(limit)
    .all();

export const deleteEntries = (db: Database, ids: string[]) =>
  db
    .delete(auditEntries)
    .where(inArray(auditEntries.id, sql`(SELECT value FROM json_each(${JSON.stringify(ids)}))`));

export const findChain = (db: Database, account_id: string) =>
  db.select().from(auditChains).where(eq(auditChains.account_id, account_id)).get();

/** Adds the object of a chain, unless it has one. */
export const insertChain = (db: Database, row: typeof auditChains.$inferInsert) =>
  db.insert(auditChains).values(row).onConflictDoNothing();

/** Lists chains whose head was signed with another key. It scans all chains, during a rotation only. */
export const listChainsSignedWithout = (db: Database, key_id: string, limit: number) =>
  db.select().from(auditChains).where(ne(auditChains.key_id, key_id)).limit(limit).all();

export const setChainKey = (db: Database, account_id: string, key_id: string) =>
  db.update(auditChains).set({ key_id }).where(eq(auditChains.account_id, account_id));

export async function countFailedSignIn(db: Database, day: string): Promise<void> {
  await db
    .insert(failedSignIns)
    .values({ day, count: 1 })
    .onConflictDoUpdate({ target: failedSignIns.day, set: { count: sql`count + 1` } });
}

/** Lists the failed sign-ins of the last days, the latest first. */
export const listFailedSignIns = (db: Database, since: string) =>
  db
    .select()
    .from(failedSignIns)
    .where(gte(failedSignIns.day, since))
    .orderBy(desc(failedSignIns.day))
    .all();
