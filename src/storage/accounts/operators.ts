/** What operators decide of users: who is one of them, and whose account is suspended. */
import { and, asc, desc, eq, gt, isNotNull, isNull } from "drizzle-orm";
import { allOf, type Database } from "../database.ts";
import { users } from "../schema/index.ts";
import { sessions } from "../schema/sign-in.ts";

export const setOperator = (db: Database, userId: string, proof: string) =>
  db.update(users).set({ operator_proof: proof }).where(eq(users.id, userId));

/** @returns whether they had been one */
export async function removeOperator(db: Database, userId: string): Promise<boolean> {
  const removed = await db
    .update(users)
    .set({ operator_proof: null })
    .where(and(eq(users.id, userId), isNotNull(users.operator_proof)))
    .returning({ id: users.id });
  return removed.length > 0;
}

const brief = { id: users.id, username: users.username, name: users.name };

/** @param proof of the OPERATOR_TOKEN that counts */
export const listOperators = (db: Database, proof: string, limit: number) =>
  db
    .select(brief)
    .from(users)
    .where(eq(users.operator_proof, proof))
    .orderBy(asc(users.id))
    .limit(limit)
    .all();

/** Its sessions end, and so does the right of an operator. */
export const suspendUser = (db: Database, userId: string, now: number) =>
  allOf(db, [
    db
      .update(users)
      .set({ suspended_at: now, operator_proof: null })
      .where(and(eq(users.id, userId), isNull(users.suspended_at))),
    db.delete(sessions).where(eq(sessions.userId, userId)),
  ]);

/** @returns whether it was suspended */
export async function restoreUser(db: Database, userId: string): Promise<boolean> {
  const restored = await db
    .update(users)
    .set({ suspended_at: null })
    .where(and(eq(users.id, userId), isNotNull(users.suspended_at)))
    .returning({ id: users.id });
  return restored.length > 0;
}

/** Those that were suspended after `since`, the latest first. */
export const listSuspended = (db: Database, since: number, limit: number) =>
  db
    .select({ ...brief, suspended_at: users.suspended_at })
    .from(users)
    .where(and(isNotNull(users.suspended_at), gt(users.suspended_at, since)))
    .orderBy(desc(users.suspended_at), desc(users.id))
    .limit(limit)
    .all();
