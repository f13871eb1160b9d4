/**
 * Deleted accounts. The username becomes `leaving/{seq}`, which is no valid name, and `gone/{seq}`
 * once all data is removed: the accounts still to be cleaned up are a range of the usernames. The row
 * itself stays, because the account's former usernames stay reserved.
 */
import { and, between, eq, inArray, isNull, ne, or, sql } from "drizzle-orm";
import { integer, sqliteTable } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { insertForMembers, insertIfChanged } from "../audit/entries.ts";
import { type Database, runBatch } from "../database.ts";
import {
  accountBytes,
  accountCounts,
  budgeted,
  capacityGrants,
  collaborators,
  deployments,
  fileBytes,
  invitations,
  models,
  registryBytes,
  registryUploads,
  shares,
  tokens,
  uploads,
  usernames,
  users,
  versionFiles,
  webhookEndpoints,
} from "../schema/index.ts";
import { logins } from "../schema/sign-in.ts";
import { leaveOrganizations, unlessOnlyOwner } from "./organizations.ts";
import type { UserRow } from "./users.ts";

/** The full-text index of users in migrations/0000_baseline.sql: only its key is needed here. */
const usersWords = sqliteTable("users_words", { rowid: integer().notNull() });

/**
 * Ends all access to the account, hides it and its models, and ends its webhooks. Fails (`isOwnerless`) for the
 * only owner of an organization.
 * @param entries of the audit log: `left` is written for each organization of a person
 */
export const closeAccount = (
  db: Database,
  id: string,
  now: number,
  entries: { deleted: EntryRow; left: EntryRow },
) =>
  runBatch(db, [
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
        operator_since: null,
        suspended_at: null,
        recovered_at: null,
        updated_at: unlessOnlyOwner(id, now),
        deleted_at: now,
      })
      .where(and(eq(users.id, id), isNull(users.deleted_at))),
    insertIfChanged(db, entries.deleted),
    insertForMembers(db, entries.left, sql`user_id = ${id}`, null),
    ...shutOut(db, id),
    ...called(db, id, "leaving"),
  ]);

/**
 * Ends the user's access, and that of others to the user's models. Sessions, credentials and passkeys are deleted
 * with the login.
 */
const shutOut = (db: Database, id: string) => [
  db.delete(tokens).where(eq(tokens.user_id, id)),
  // Before the models, whose versions they hold.
  db.delete(deployments).where(eq(deployments.owner_id, id)),
  db.delete(shares).where(eq(shares.user_id, id)),
  db.delete(budgeted).where(eq(budgeted.account_id, id)),
  db.delete(webhookEndpoints).where(eq(webhookEndpoints.user_id, id)),
  db.delete(invitations).where(eq(invitations.user_id, id)),
  db.delete(logins).where(eq(logins.id, id)),
  ...leaveOrganizations(db, id),
  db
    .delete(collaborators)
    .where(
      or(
        eq(collaborators.account_id, id),
        inArray(
          collaborators.model_id,
          db.select({ id: models.id }).from(models).where(eq(models.owner_id, id)),
        ),
      ),
    ),
];

/** Expires the account's uploads. The sweep then removes them, since no version names them any more. */
const expireUploads = (db: Database, id: string, now: number) => [
  db
    .delete(versionFiles)
    .where(
      inArray(
        versionFiles.upload_id,
        db.select({ id: uploads.id }).from(uploads).where(eq(uploads.user_id, id)),
      ),
    ),
  db
    .update(uploads)
    .set({ expires_at: now })
    .where(and(eq(uploads.user_id, id), sql`${uploads.expires_at} > ${now}`)),
];

/** Renames the account; the new name is neither reserved nor searchable. */
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

export const takeClosedAccounts = (db: Database, now: number, limit: number) =>
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

/** Removes access that a request in progress may have created after the account was closed. */
export const revokeAccess = (db: Database, id: string) => runBatch(db, shutOut(db, id));

export const listSomeModels = (db: Database, ownerId: string, limit: number) =>
  db.select({ id: models.id }).from(models).where(eq(models.owner_id, ownerId)).limit(limit).all();

/** Completes the removal if no data is left. @returns whether it is complete */
export async function endRemoval(db: Database, { id }: UserRow, now: number): Promise<boolean> {
  await runBatch(db, expireUploads(db, id, now));
  const left = sql<number>`
    EXISTS (SELECT 1 FROM ${models} WHERE owner_id = ${id})
    OR EXISTS (SELECT 1 FROM ${accountCounts} WHERE user_id = ${id})
    OR EXISTS (SELECT 1 FROM ${uploads} WHERE user_id = ${id})
    OR EXISTS (SELECT 1 FROM ${registryUploads} WHERE user_id = ${id})
    OR EXISTS (SELECT 1 FROM ${registryBytes} WHERE user_id = ${id} AND bytes > 0)`;
  const [row] = await db.all<{ left: number }>(sql`SELECT ${left} AS left`);
  if (row?.left !== 0) return false;
  await runBatch(db, [
    ...called(db, id, "gone"),
    // Until then, they have the sweep tell its pools that the claims have ended.
    db.delete(capacityGrants).where(eq(capacityGrants.account_id, id)),
    db.delete(accountBytes).where(eq(accountBytes.user_id, id)),
    db.delete(fileBytes).where(eq(fileBytes.user_id, id)),
    db.delete(registryBytes).where(eq(registryBytes.user_id, id)),
  ]);
  return true;
}
