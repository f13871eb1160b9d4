import { and, eq, isNull } from "drizzle-orm";
import type { Database } from "./database.ts";
import { type Keyset, range } from "./keyset.ts";
import { runnerTokens, tokens } from "./schema.ts";

export const insertToken = (db: Database, row: typeof tokens.$inferInsert) =>
  db.insert(tokens).values(row);

export const insertRunnerToken = (db: Database, row: typeof runnerTokens.$inferInsert) =>
  db.insert(runnerTokens).values(row);

/** A token that is not revoked. */
export const findToken = (db: Database, hash: string) =>
  db
    .select({
      id: tokens.id,
      scopes: tokens.scopes,
      expires_at: tokens.expires_at,
      user_id: tokens.user_id,
    })
    .from(tokens)
    .where(and(eq(tokens.hash, hash), isNull(tokens.revoked_at)))
    .get();

export const findRunnerToken = (db: Database, hash: string) =>
  db
    .select({ id: runnerTokens.id, hardware: runnerTokens.hardware })
    .from(runnerTokens)
    .where(and(eq(runnerTokens.hash, hash), isNull(runnerTokens.revoked_at)))
    .get();

export type TokenRow = typeof tokens.$inferSelect;
export type RunnerTokenRow = typeof runnerTokens.$inferSelect;

/** A user's that are not revoked, newest first. */
export function listTokens(db: Database, userId: string, keyset: Keyset) {
  const { where, order, limit } = range([tokens.id], "desc", keyset);
  return db
    .select()
    .from(tokens)
    .where(and(eq(tokens.user_id, userId), isNull(tokens.revoked_at), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Those that are not revoked, newest first. */
export function listRunnerTokens(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([runnerTokens.id], "desc", keyset);
  return db
    .select()
    .from(runnerTokens)
    .where(and(isNull(runnerTokens.revoked_at), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** @returns whether there was one to revoke */
export async function revokeToken(db: Database, id: string, now: number): Promise<boolean> {
  const revoked = await db
    .update(tokens)
    .set({ revoked_at: now })
    .where(and(eq(tokens.id, id), isNull(tokens.revoked_at)))
    .returning({ id: tokens.id });
  return revoked.length > 0;
}

/** @returns whether there was one to revoke */
export async function revokeRunnerToken(db: Database, id: string, now: number): Promise<boolean> {
  const revoked = await db
    .update(runnerTokens)
    .set({ revoked_at: now })
    .where(and(eq(runnerTokens.id, id), isNull(runnerTokens.revoked_at)))
    .returning({ id: runnerTokens.id });
  return revoked.length > 0;
}
