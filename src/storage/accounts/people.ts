/** The users of the deployment, as operators see them. */
import { and, asc, desc, eq, gt, isNotNull, isNull, ne, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { changeRecorded, insertIf, insertIfChanged } from "../audit/entries.ts";
import { type Database, runBatch } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { models, usernames, users } from "../schema/index.ts";
import { sessions } from "../schema/sign-in.ts";
import { unlessOnlyOwner } from "./organizations.ts";

/** Operators, the latest first. */
export function listOperators(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([users.operator_since, users.id], "desc", keyset);
  return db
    .select()
    .from(users)
    .where(and(isNotNull(users.operator_since), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Suspended accounts, the latest first. */
export function listSuspendedUsers(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([users.suspended_at, users.id], "desc", keyset);
  return db
    .select()
    .from(users)
    .where(and(isNotNull(users.suspended_at), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export interface Activity {
  id: string;
  models: number;
  /** The last use of a token, a session or a prediction; 0: none of them exists any more. */
  used_at: number;
}

/** Finds the activity of a page of users, in one statement: four ranges of indexes for each user. */
export const findActivity = (db: Database, ids: string[]): Promise<Activity[]> =>
  db.all<Activity>(sql`SELECT value AS id,
    (SELECT count(*) FROM models WHERE owner_id = value) AS models,
    max(
      coalesce((SELECT max(last_used_at) FROM tokens WHERE user_id = value), 0),
      coalesce((SELECT max(updated_at) FROM sessions WHERE user_id = value), 0),
      coalesce((SELECT max(told_at) FROM account_counts WHERE user_id = value), 0)
    ) AS used_at
    FROM json_each(${JSON.stringify(ids)})`);

export const listFormerUsernames = (db: Database, userId: string, current: string) =>
  db
    .select({ username: usernames.username })
    .from(usernames)
    .where(and(eq(usernames.user_id, userId), ne(usernames.username, current)))
    .orderBy(asc(usernames.username))
    .all();

/** Makes a person an operator. @returns whether they are one now: not if they were suspended or deleted */
export async function setOperator(
  db: Database,
  userId: string,
  now: number,
  entry: EntryRow,
): Promise<boolean> {
  const appointing = db
    .update(users)
    .set({ operator_since: sql`coalesce(${users.operator_since}, ${now})` })
    .where(
      and(
        eq(users.id, userId),
        eq(users.kind, "user"),
        isNull(users.suspended_at),
        isNull(users.deleted_at),
      ),
    )
    .returning({ id: users.id });
  const isNew = sql`EXISTS (SELECT 1 FROM users WHERE id = ${userId} AND operator_since = ${now})`;
  const [appointed] = await db.batch([appointing, insertIf(db, entry, isNew)]);
  return appointed.length > 0;
}

export async function hasOperator(db: Database): Promise<boolean> {
  const operator = await db
    .select({ id: users.id })
    .from(users)
    .where(isNotNull(users.operator_since))
    .limit(1)
    .get();
  return operator !== undefined;
}

/** Demotes an operator, unless there is no other. @returns whether it did */
export async function removeOperator(
  db: Database,
  userId: string,
  entry: EntryRow,
): Promise<boolean> {
  const hasOther = sql`EXISTS (SELECT 1 FROM users AS others
    WHERE others.operator_since IS NOT NULL AND others.id <> ${userId})`;
  const removing = db
    .update(users)
    .set({ operator_since: null })
    .where(and(eq(users.id, userId), isNotNull(users.operator_since), hasOther))
    .returning({ id: users.id });
  const removed = await changeRecorded(db, removing, entry);
  return removed.length > 0;
}

/**
 * Suspends an account, and ends its sessions and operator rights. Fails (`isOwnerless`) for the only owner of an
 * organization.
 * @param hidesModels makes all models private
 */
export const suspendUser = (
  db: Database,
  userId: string,
  now: number,
  hidesModels: boolean,
  entry: EntryRow,
) =>
  runBatch(db, [
    ...(hidesModels
      ? [
          db
            .update(models)
            .set({ visibility: "private", updated_at: now })
            .where(and(eq(models.owner_id, userId), ne(models.visibility, "private"))),
        ]
      : []),
    db
      .update(users)
      .set({
        suspended_at: now,
        operator_since: null,
        updated_at: unlessOnlyOwner(userId, sql`${users.updated_at}`),
      })
      .where(and(eq(users.id, userId), isNull(users.suspended_at))),
    insertIfChanged(db, entry),
    db.delete(sessions).where(eq(sessions.userId, userId)),
  ]);

export const restoreUser = (db: Database, userId: string, entry: EntryRow) =>
  changeRecorded(
    db,
    db
      .update(users)
      .set({ suspended_at: null })
      .where(and(eq(users.id, userId), isNotNull(users.suspended_at))),
    entry,
  );

/** Lists accounts suspended after `since`, latest first. */
export const listSuspended = (db: Database, since: number, limit: number) =>
  db
    .select({ id: users.id })
    .from(users)
    .where(and(isNotNull(users.suspended_at), gt(users.suspended_at, since)))
    .orderBy(desc(users.suspended_at), desc(users.id))
    .limit(limit)
    .all();
