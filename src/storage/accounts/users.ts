import { and, eq, isNull, notExists, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Direction, type Keyset, range } from "../keyset.ts";
import { releasedUsernames, usernames, users } from "../schema/index.ts";

export type UserRow = typeof users.$inferSelect;

export async function insertUser(
  db: Database,
  row: typeof users.$inferInsert,
  entry: EntryRow,
): Promise<UserRow | undefined> {
  const [user] = await changeRecorded(db, db.insert(users).values(row).returning(), entry);
  return user;
}

/** Returns undefined for a deleted account, even if its session or token is still cached. */
export const findUser = (db: Database, id: string) =>
  db.select().from(users).where(isThere(id)).get();

/**
 * Returns the names of some accounts by their ids, without deleted ones. The ids are one parameter, since D1
 * takes 100.
 */
export async function findUsernames(db: Database, ids: string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db
    .select({ id: users.id, username: users.username })
    .from(users)
    .where(
      and(
        sql`${users.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
        isNull(users.deleted_at),
      ),
    )
    .all();
  return new Map(rows.map(({ id, username }) => [id, username]));
}

export const findUserByName = (db: Database, username: string) =>
  db
    .select()
    .from(users)
    .where(and(eq(users.username, username), isNull(users.deleted_at)))
    .get();

/**
 * Returns the id of the account's object; null for an account that has never made a prediction, or does not
 * exist.
 */
export async function findAccountObject(db: Database, id: string): Promise<string | null> {
  const columns = { account_object: users.account_object };
  const row = await db.select(columns).from(users).where(eq(users.id, id)).get();
  return row?.account_object ?? null;
}

/**
 * Sets the account's object unless it has one.
 * @returns the one it has; undefined if the account is deleted
 */
export async function setAccountObject(
  db: Database,
  id: string,
  objectId: string,
): Promise<string | undefined> {
  const row = await db
    .update(users)
    .set({ account_object: sql`coalesce(${users.account_object}, ${objectId})` })
    .where(isThere(id))
    .returning({ account_object: users.account_object })
    .get();
  return row?.account_object ?? undefined;
}

/** @returns undefined if the account is deleted, or holds `maxNames` other usernames already */
export async function updateUser(
  db: Database,
  id: string,
  changes: Partial<UserRow>,
  maxNames: number,
  entry: EntryRow,
): Promise<UserRow | undefined> {
  const hasRoom =
    changes.username === undefined
      ? undefined
      : sql`(SELECT count(*) FROM usernames
          WHERE user_id = ${id} AND username <> ${changes.username}) < ${maxNames}`;
  const updating = db
    .update(users)
    .set(changes)
    .where(and(isThere(id), hasRoom))
    .returning();
  return (await changeRecorded(db, updating, entry))[0];
}

/** @returns false if the avatar was changed in the meantime */
export async function replaceAvatarUrl(
  db: Database,
  user: UserRow,
  address: string,
  now: number,
  entry: EntryRow,
): Promise<boolean> {
  const replacing = db
    .update(users)
    .set({ avatar_url: address, updated_at: now })
    .where(and(isThere(user.id), eq(users.avatar_url, user.avatar_url)))
    .returning({ id: users.id });
  const replaced = await changeRecorded(db, replacing, entry);
  return replaced.length > 0;
}

/**
 * Releases a username, unless it is in use.
 * @param entryOf makes the entry of the audit log, for the account that has held it
 * @returns whether it was released
 */
export async function deleteUsername(
  db: Database,
  username: string,
  entryOf: (userId: string) => EntryRow,
): Promise<boolean> {
  const held = await db.select().from(usernames).where(eq(usernames.username, username)).get();
  if (!held) return false;
  const holder = db.select().from(users).where(eq(users.username, username));
  const free = and(eq(usernames.username, username), notExists(holder));
  const one = sql<number>`1`.as("times");
  const [, deleted] = await db.batch([
    db
      .insert(releasedUsernames)
      .select(db.select({ username: usernames.username, times: one }).from(usernames).where(free))
      .onConflictDoUpdate({
        target: releasedUsernames.username,
        set: { times: sql`times + 1` },
      }),
    db.delete(usernames).where(free).returning(),
    insertIfChanged(db, entryOf(held.user_id)),
  ]);
  return deleted.length > 0;
}

/** Returns how often the operator has released a username. */
export async function timesReleased(db: Database, username: string): Promise<number> {
  const row = await db
    .select()
    .from(releasedUsernames)
    .where(eq(releasedUsernames.username, username))
    .get();
  return row?.times ?? 0;
}

export function listUsers(db: Database, direction: Direction, keyset: Keyset) {
  const { where, order, limit } = range([users.id], direction, keyset);
  return db
    .select()
    .from(users)
    .where(and(isNull(users.deleted_at), eq(users.kind, "user"), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

const isThere = (id: string) => and(eq(users.id, id), isNull(users.deleted_at));
