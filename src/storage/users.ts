import { eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { type Direction, type Keyset, range } from "./keyset.ts";
import { users } from "./schema.ts";

export type UserRow = typeof users.$inferSelect;

export const insertUser = (db: Database, row: typeof users.$inferInsert) =>
  db.insert(users).values(row).returning().get();

export const findUser = (db: Database, id: string) =>
  db.select().from(users).where(eq(users.id, id)).get();

export const findUserByName = (db: Database, username: string) =>
  db.select().from(users).where(eq(users.username, username)).get();

export const updateUser = (db: Database, id: string, changes: Partial<UserRow>) =>
  db.update(users).set(changes).where(eq(users.id, id)).returning().get();

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
