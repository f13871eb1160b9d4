import { and, eq, notExists, sql } from "drizzle-orm";
import type { Database } from "./database.ts";
import { type Direction, type Keyset, range } from "./keyset.ts";
import { usernames, users } from "./schema.ts";

export type UserRow = typeof users.$inferSelect;

export const insertUser = (db: Database, row: typeof users.$inferInsert) =>
  db.insert(users).values(row).returning().get();

export const findUser = (db: Database, id: string) =>
  db.select().from(users).where(eq(users.id, id)).get();

export const findUserByName = (db: Database, username: string) =>
  db.select().from(users).where(eq(users.username, username)).get();

/** @returns undefined when the account holds `maxNames` others than the name that it would have */
export async function updateUser(
  db: Database,
  id: string,
  changes: Partial<UserRow>,
  maxNames: number,
): Promise<UserRow | undefined> {
  const hasRoom =
    changes.username === undefined
      ? undefined
      : sql`(SELECT count(*) FROM usernames
          WHERE user_id = ${id} AND username <> ${changes.username}) < ${maxNames}`;
  return db
    .update(users)
    .set(changes)
    .where(and(eq(users.id, id), hasRoom))
    .returning()
    .get();
}

/** Unless it is somebody's at present. @returns whether it was deleted */
export async function deleteUsername(db: Database, username: string): Promise<boolean> {
  const holder = db.select().from(users).where(eq(users.username, username));
  const deleted = await db
    .delete(usernames)
    .where(and(eq(usernames.username, username), notExists(holder)))
    .returning();
  return deleted.length > 0;
}

/** In the order in which they joined. */
export function listUsers(db: Database, direction: Direction, keyset: Keyset) {
  const { where, order, limit } = range([users.id], direction, keyset);
  return db
    .select()
    .from(users)
    .where(where)
    .orderBy(...order)
    .limit(limit)
    .all();
}
