/**
 * Accounts that are given up. Its name is `leaving/{seq}` from then on, which nobody can have or ask
 * for, and `gone/{seq}` when nothing is left: what is still to be removed is a range of the names.
 * The row itself stays, since the usernames that it had are kept for it.
 */
import { and, between, eq, inArray, ne, sql } from "drizzle-orm";
import { integer, sqliteTable } from "drizzle-orm/sqlite-core";
import { allOf, type Database } from "../database.ts";
import {
  accountBytes,
  invitations,
  models,
  predictions,
  tokens,
  uploads,
  usage,
  usernames,
  users,
  webhookEndpoints,
} from "../schema/index.ts";
import { logins } from "../schema/sign-in.ts";
import type { UserRow } from "./users.ts";

/** The full-text index of users in migrations/0000_baseline.sql: only its key is needed here. */
const usersWords = sqliteTable("users_words", { rowid: integer().notNull() });

/** Nobody signs in, calls, sees or is told anything of it from here on. */
export const closeAccount = (db: Database, id: string, now: number) =>
  allOf(db, [
    ...shutOut(db, id),
    db
      .update(models)
      .set({ visibility: "private", updated_at: now })
      .where(and(eq(models.owner_id, id), ne(models.visibility, "private"))),
    ...expireUploads(db, id, now),
    db
      .update(users)
      .set({
        name: "",
        avatar_url: "",
        bio: "",
        urls: [],
        location: "",
        company: "",
        operator_proof: null,
        suspended_at: null,
        recovered_at: null,
        updated_at: now,
        deleted_at: now,
      })
      .where(eq(users.id, id)),
    ...called(db, id, "leaving"),
  ]);

/** Of a login the sessions, credentials and passkeys go with it. */
const shutOut = (db: Database, id: string) => [
  db.delete(tokens).where(eq(tokens.user_id, id)),
  db.delete(webhookEndpoints).where(eq(webhookEndpoints.user_id, id)),
  db.delete(invitations).where(eq(invitations.user_id, id)),
  db.delete(logins).where(eq(logins.id, id)),
];

/** From now on they have had their time, and the sweep of uploads removes them. */
const expireUploads = (db: Database, id: string, now: number) => [
  db
    .update(uploads)
    .set({ expires_at: now })
    .where(and(eq(uploads.user_id, id), sql`${uploads.expires_at} > ${now}`)),
];

/** Such a name is in no search, and kept for nobody. */
const called = (db: Database, id: string, state: "leaving" | "gone") => [
  db
    .update(users)
    .set({ username: sql`${`${state}/`} || ${users.seq}` })
    .where(eq(users.id, id)),
  db.delete(usernames).where(and(eq(usernames.user_id, id), sql`${usernames.username} GLOB '*/*'`)),
  db
    .delete(usersWords)
    .where(sql`${usersWords.rowid} IN (SELECT rank FROM users_documents WHERE id = ${id})`),
];

/** Those that have waited longest for their turn. */
export const takeLeaving = (db: Database, now: number, limit: number) =>
  db
    .update(users)
    .set({ updated_at: now })
    .where(
      inArray(
        users.id,
        db
          .select({ id: users.id })
          .from(users)
          .where(between(users.username, "leaving/", "leaving0"))
          .orderBy(users.updated_at)
          .limit(limit),
      ),
    )
    .returning()
    .all();

/** What a request that was under way when the account was closed may have made after that. */
export const shutOutAgain = (db: Database, id: string) => allOf(db, shutOut(db, id));

/** A user's first ones, by their ids. */
export const firstPredictions = (db: Database, userId: string, limit: number) =>
  db
    .select({
      id: predictions.id,
      object_id: predictions.object_id,
      data_removed: predictions.data_removed,
    })
    .from(predictions)
    .where(eq(predictions.user_id, userId))
    .orderBy(predictions.id)
    .limit(limit)
    .all();

/** Some that have not ended: found by an index that has their ids alone. */
export const someUnderWay = (db: Database, userId: string, limit: number) =>
  db
    .select({ id: predictions.id, object_id: predictions.object_id })
    .from(predictions)
    .where(
      sql`(${predictions.user_id}, ${predictions.id}) IN (
        SELECT user_id, id FROM predictions
        WHERE user_id = ${userId} AND status IN ('pending', 'started') LIMIT ${limit})`,
    )
    .all();

export const someModels = (db: Database, ownerId: string, limit: number) =>
  db.select({ id: models.id }).from(models).where(eq(models.owner_id, ownerId)).limit(limit).all();

export const deleteUsage = (db: Database, userId: string, limit: number) =>
  db.delete(usage).where(
    sql`(${usage.user_id}, ${usage.day}, ${usage.model_id}) IN (
      SELECT user_id, day, model_id FROM usage WHERE user_id = ${userId} LIMIT ${limit})`,
  );

/**
 * Ends the removal, unless something is left.
 * @returns whether it is ended
 */
export async function endRemoval(db: Database, { id }: UserRow, now: number): Promise<boolean> {
  await allOf(db, expireUploads(db, id, now));
  const left = sql<number>`
    EXISTS (SELECT 1 FROM ${predictions} WHERE user_id = ${id})
    OR EXISTS (SELECT 1 FROM ${models} WHERE owner_id = ${id})
    OR EXISTS (SELECT 1 FROM ${usage} WHERE user_id = ${id})
    OR EXISTS (SELECT 1 FROM ${uploads} WHERE user_id = ${id})`;
  const [row] = await db.all<{ left: number }>(sql`SELECT ${left} AS left`);
  if (row?.left !== 0) return false;
  await allOf(db, [
    ...called(db, id, "gone"),
    db.delete(accountBytes).where(eq(accountBytes.user_id, id)),
  ]);
  return true;
}
