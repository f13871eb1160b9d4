/** Operators' invitations of people to a deployment, and their links to recover an account. */
import { and, desc, eq, gt, isNotNull, isNull, lte } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { changeRecorded } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { invitations, users } from "../schema/index.ts";

export type InvitationRow = typeof invitations.$inferSelect;

export const deleteInvitationsFor = (db: Database, userId: string) =>
  db
    .delete(invitations)
    .where(and(eq(invitations.user_id, userId), isNull(invitations.accepted_at)));

export const insertInvitation = (
  db: Database,
  row: typeof invitations.$inferInsert,
  entry: EntryRow,
) => changeRecorded(db, db.insert(invitations).values(row), entry);

/** The users who created the invitations. */
const makers = alias(users, "makers");

/** Whether an invitation is open. Its creator must still be an operator: links outlast sessions. */
const isOpen = (now: number) =>
  and(
    isNull(invitations.accepted_at),
    gt(invitations.expires_at, now),
    isNotNull(makers.operator_since),
  );

export const findInvitation = async (
  db: Database,
  hash: string,
  now: number,
): Promise<InvitationRow | undefined> => {
  const found = await db
    .select({ invitation: invitations })
    .from(invitations)
    .innerJoin(makers, eq(makers.id, invitations.made_by))
    .where(and(eq(invitations.hash, hash), isOpen(now)))
    .get();
  return found?.invitation;
};

/** Lists open invitations, newest first. */
export const listInvitations = (db: Database, now: number, limit: number) =>
  db
    .select({
      id: invitations.id,
      note: invitations.note,
      username: users.username,
      made_by: makers.username,
      recovers: invitations.recovers,
      expires_at: invitations.expires_at,
    })
    .from(invitations)
    .innerJoin(makers, eq(makers.id, invitations.made_by))
    .leftJoin(users, eq(users.id, invitations.user_id))
    .where(isOpen(now))
    .orderBy(desc(invitations.id))
    .limit(limit)
    .all();

/** Lists operators' recovery links that a user has accepted, latest first. */
export const listRecoveries = (db: Database, userId: string, limit: number) =>
  db
    .select({
      id: invitations.id,
      made_by: users.username,
      created_at: invitations.created_at,
      accepted_at: invitations.accepted_at,
    })
    .from(invitations)
    .leftJoin(users, eq(users.id, invitations.made_by))
    .where(
      and(
        eq(invitations.user_id, userId),
        eq(invitations.recovers, true),
        isNotNull(invitations.accepted_at),
      ),
    )
    .orderBy(desc(invitations.id))
    .limit(limit)
    .all();

/** @param until later recoveries stay unread */
export const clearRecoveryNotice = (db: Database, userId: string, until: number) =>
  db
    .update(users)
    .set({ recovered_at: null })
    .where(and(eq(users.id, userId), lte(users.recovered_at, until)));

/** @param entryOf makes the entry of the audit log @returns whether it existed and was open */
export async function deleteInvitation(
  db: Database,
  id: string,
  entryOf: (invitation: InvitationRow) => EntryRow,
): Promise<boolean> {
  const isIt = and(eq(invitations.id, id), isNull(invitations.accepted_at));
  const invitation = await db.select().from(invitations).where(isIt).get();
  if (!invitation) return false;
  const deleting = db.delete(invitations).where(isIt).returning({ id: invitations.id });
  return (await changeRecorded(db, deleting, entryOf(invitation))).length > 0;
}
