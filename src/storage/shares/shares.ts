import { and, desc, eq, gt, isNull, lt, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { changeRecorded } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { shares, users } from "../schema/index.ts";

export type ShareRow = typeof shares.$inferSelect;

/** Inserts a share unless the account has `max` that have not expired. @returns whether it was inserted */
export async function insertShare(
  db: Database,
  row: ShareRow,
  max: number,
  entry: EntryRow,
): Promise<boolean> {
  const { id, user_id, prediction_id, model, hash, created_at, expires_at } = row;
  const inserting = db.insert(shares).select(sql`SELECT
    ${id}, ${user_id}, ${prediction_id}, ${model}, ${hash}, ${created_at}, ${expires_at}
    WHERE (SELECT count(*) FROM shares WHERE user_id = ${user_id} AND expires_at > ${created_at}) < ${max}`);
  const result = await changeRecorded(db, inserting, entry);
  return result.meta.changes > 0;
}

/** Finds a share that has not expired, of an account that is neither suspended nor deleted. */
export async function findShare(db: Database, hash: string, now: number) {
  const [found] = await db
    .select({ share: shares })
    .from(shares)
    .innerJoin(users, eq(users.id, shares.user_id))
    .where(
      and(
        eq(shares.hash, hash),
        gt(shares.expires_at, now),
        isNull(users.suspended_at),
        isNull(users.deleted_at),
      ),
    );
  return found?.share;
}

/** Lists an account's shares, newest first. */
export function listShares(db: Database, userId: string, keyset: Keyset) {
  const { where, order, limit } = range([shares.created_at, shares.id], "desc", keyset);
  return db
    .select()
    .from(shares)
    .where(and(eq(shares.user_id, userId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Lists the shares of a prediction by its owner that have not expired, newest first. */
export const listSharesOf = (db: Database, userId: string, predictionId: string, now: number) =>
  db
    .select()
    .from(shares)
    .where(
      and(
        eq(shares.user_id, userId),
        eq(shares.prediction_id, predictionId),
        gt(shares.expires_at, now),
      ),
    )
    .orderBy(desc(shares.created_at), desc(shares.id))
    .all();

const isOwn = (userId: string, id: string) => and(eq(shares.id, id), eq(shares.user_id, userId));

export const findOwnShare = (db: Database, userId: string, id: string) =>
  db.select().from(shares).where(isOwn(userId, id)).get();

/** @returns whether there was one */
export async function deleteShare(
  db: Database,
  userId: string,
  id: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db.delete(shares).where(isOwn(userId, id)).returning({ id: shares.id });
  const gone = await changeRecorded(db, deleting, entry);
  return gone.length > 0;
}

export const deleteExpiredShares = (db: Database, now: number) =>
  db.delete(shares).where(lt(shares.expires_at, now));
