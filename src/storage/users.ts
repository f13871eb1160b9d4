import { eq } from "drizzle-orm";
import type { Database } from "./database.ts";
import { users } from "./schema.ts";

export type UserRow = typeof users.$inferSelect;

export const insertUser = (db: Database, row: UserRow) => db.insert(users).values(row);

export const findUserByName = (db: Database, username: string) =>
  db.select().from(users).where(eq(users.username, username)).get();
