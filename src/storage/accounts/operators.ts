/** Operators, and the accounts they have suspended. */
import { and, desc, eq, gt, isNotNull, isNull, ne } from "drizzle-orm";
import { type Database, runBatch } from "../database.ts";
import { models, users } from "../schema/index.ts";
import { sessions } from "../schema/sign-in.ts";

export const setOperator = (db: Database, userId: string, proof: string) =>
  db.update(users).set({ operator_proof: proof }).where(eq(users.id, userId));

/** @param proof fingerprint of the current OPERATOR_TOKEN */
export async function hasOperator(db: Database, proof: string): Promise<boolean> {
  const operator = await db
    .select({ id: users.id })
    .from(users)
    .where(eq(users.operator_proof, proof))
    .limit(1)
    .get();
  return operator !== undefined;
}

/** @returns whether the user was an operator */
export async function removeOperator(db: Database, userId: string): Promise<boolean> {
  const removed = await db
    .update(users)
    .set({ operator_proof: null })
    .where(and(eq(users.id, userId), isNotNull(users.operator_proof)))
    .returning({ id: users.id });
  return removed.length > 0;
}

/**
 * Suspends a user, and ends the user's sessions and operator rights.
 * @param hidesModels makes all models private
 */
export const suspendUser = (db: Database, userId: string, now: number, hidesModels: boolean) =>
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
      .set({ suspended_at: now, operator_proof: null })
      .where(and(eq(users.id, userId), isNull(users.suspended_at))),
    db.delete(sessions).where(eq(sessions.userId, userId)),
  ]);

/** @returns whether the account was suspended */
export async function restoreUser(db: Database, userId: string): Promise<boolean> {
  const restored = await db
    .update(users)
    .set({ suspended_at: null })
    .where(and(eq(users.id, userId), isNotNull(users.suspended_at)))
    .returning({ id: users.id });
  return restored.length > 0;
}

/** Lists accounts suspended after `since`, latest first. */
export const listSuspended = (db: Database, since: number, limit: number) =>
  db
    .select({ id: users.id })
    .from(users)
    .where(and(isNotNull(users.suspended_at), gt(users.suspended_at, since)))
    .orderBy(desc(users.suspended_at), desc(users.id))
    .limit(limit)
    .all();
