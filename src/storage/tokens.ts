import { and, eq, isNull } from "drizzle-orm";
import type { Database } from "./database.ts";
import { runners, runnerTokens, tokens, users } from "./schema.ts";

export const insertToken = (db: Database, row: typeof tokens.$inferInsert) =>
  db.insert(tokens).values(row);

export const insertRunnerToken = (db: Database, row: typeof runnerTokens.$inferInsert) =>
  db.insert(runnerTokens).values(row);

/** A token that is not revoked, with whose it is. */
export const findToken = (db: Database, hash: string) =>
  db
    .select({
      id: tokens.id,
      scopes: tokens.scopes,
      expires_at: tokens.expires_at,
      user_id: users.id,
      username: users.username,
    })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.user_id))
    .where(and(eq(tokens.hash, hash), isNull(tokens.revoked_at)))
    .get();

export const findRunnerToken = (db: Database, hash: string) =>
  db
    .select({ id: runnerTokens.id, hardware: runnerTokens.hardware })
    .from(runnerTokens)
    .where(and(eq(runnerTokens.hash, hash), isNull(runnerTokens.revoked_at)))
    .get();

/** The runner of that name under its token: the same one at each start. */
export const saveRunner = (db: Database, row: typeof runners.$inferInsert) =>
  db
    .insert(runners)
    .values(row)
    .onConflictDoUpdate({
      target: [runners.token_id, runners.name],
      set: { hardware: row.hardware, updated_at: row.updated_at },
    })
    .returning({ id: runners.id })
    .get();

export const findRunner = (db: Database, id: string) =>
  db.select().from(runners).where(eq(runners.id, id)).get();

export const listRunners = (db: Database) =>
  db.select().from(runners).orderBy(runners.id).limit(1_000).all();
