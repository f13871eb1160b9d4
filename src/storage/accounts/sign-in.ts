/** Logins and sessions, except for what better-auth writes itself. */
import { and, desc, eq, gt, lt, type SQL, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { Role } from "../../protocol/organization.ts";
import { changeRecorded, insertEntry } from "../audit/entries.ts";
import { type Database, runBatch } from "../database.ts";
import { deviceLogins, invitations, members, signUpAttempts, users } from "../schema/index.ts";
import {
  credentials,
  logins,
  passkeys,
  sessions,
  twoFactors,
  verifications,
} from "../schema/sign-in.ts";
import { isCurrent } from "./current-members.ts";
import { deleteIdentities } from "./identities.ts";
import { deleteInvitationsFor, type InvitationRow } from "./invitations.ts";
import {
  accepting,
  isJoinable,
  type InvitationRow as OrganizationInvitationRow,
} from "./organizations.ts";
import { provesSecondFactor } from "./second-factors.ts";

export interface NewLogin {
  id: string;
  name: string;
  email: string;
  passwordHash: string;
}

/** The invitations that a new account uses up. */
interface Invited {
  invitation: InvitationRow | undefined;
  joining: { invitation: OrganizationInvitationRow } | undefined;
}

type Statement = Parameters<Database["batch"]>[0][number];

const PASSWORD = "credential";

/**
 * Creates a login with a password and its user, and accepts the invitation, in one transaction. A
 * user who exists already is kept. Fails with NULL for `logins.id` if the invitation is no longer open.
 */
export async function insertLogin(
  db: Database,
  { id, name, email, passwordHash }: NewLogin,
  user: typeof users.$inferInsert,
  invited: Invited,
  entries: EntryRow[],
): Promise<void> {
  const now = new Date();
  const made = { createdAt: now, updatedAt: now };
  await runBatch<Statement>(db, [
    db
      .insert(logins)
      .values({ id: ifOpen(id, invited), name, email, emailVerified: false, ...made }),
    passwordOf(db, id, sql`${id}`, passwordHash),
    db
      .insert(users)
      .values(user)
      .onConflictDoUpdate({
        target: users.id,
        set: { operator_since: sql`coalesce(operator_since, excluded.operator_since)` },
      }),
    ...spend(db, invited, id),
    ...entries.map((entry) => insertEntry(db, entry)),
  ]);
}

/** Like insertLogin, for an existing login. Fails with NULL for `users.id`. */
export async function insertUserOfLogin(
  db: Database,
  user: typeof users.$inferInsert,
  invited: Invited,
  entries: EntryRow[],
): Promise<void> {
  await runBatch<Statement>(db, [
    db.insert(users).values({ ...user, id: ifOpen(user.id, invited) }),
    ...spend(db, invited, user.id),
    ...entries.map((entry) => insertEntry(db, entry)),
  ]);
}

/**
 * Sets a new password and removes all sessions, passkeys, linked identities, the authenticator app, and logins from
 * terminals that were approved, in case somebody else had access.
 * Fails with NULL for `credentials.id` if the invitation is no longer open.
 */
export async function replacePassword(
  db: Database,
  loginId: string,
  passwordHash: string,
  invited: Invited,
  entry: EntryRow,
): Promise<void> {
  await runBatch<Statement>(db, [
    passwordOf(db, loginId, ifOpen(loginId, invited), passwordHash),
    db.delete(sessions).where(eq(sessions.userId, loginId)),
    db.delete(passkeys).where(eq(passkeys.userId, loginId)),
    deleteIdentities(db, loginId),
    db.delete(twoFactors).where(eq(twoFactors.userId, loginId)),
    db.update(logins).set({ twoFactorEnabled: false }).where(eq(logins.id, loginId)),
    db.delete(deviceLogins).where(eq(deviceLogins.user_id, loginId)),
    db.update(users).set({ recovered_at: Date.now() }).where(eq(users.id, loginId)),
    ...spend(db, invited, loginId),
    insertEntry(db, entry),
  ]);
}

const passwordOf = (db: Database, loginId: string, id: SQL, password: string) =>
  db
    .insert(credentials)
    .values({
      id,
      userId: loginId,
      accountId: loginId,
      providerId: PASSWORD,
      password,
      createdAt: new Date(),
      updatedAt: new Date(),
    })
    .onConflictDoUpdate({
      target: [credentials.providerId, credentials.accountId],
      set: { password, updatedAt: new Date() },
    });

/** Returns `id`, or NULL if the invitation was accepted in the meantime, which rolls back the batch. */
function ifOpen(id: string, { invitation, joining }: Invited): SQL {
  const now = Date.now();
  if (invitation)
    return sql`(SELECT ${id} FROM invitations WHERE id = ${invitation.id} AND accepted_at IS NULL AND expires_at > ${now})`;
  return joining ? sql`(SELECT ${id} WHERE ${isJoinable(joining.invitation, now)})` : sql`${id}`;
}

/** Accepts the invitation, joins the organization and deletes other open ones for the same user. */
const spend = (db: Database, { invitation, joining }: Invited, userId: string): Statement[] => [
  ...(joining ? accepting(db, joining.invitation, userId, Date.now()) : []),
  ...(invitation
    ? [
        db
          .update(invitations)
          .set({ accepted_at: Date.now() })
          .where(eq(invitations.id, invitation.id)),
      ]
    : []),
  deleteInvitationsFor(db, userId),
];

export const findLogin = (db: Database, id: string) =>
  db.select().from(logins).where(eq(logins.id, id)).get();

export async function findSignInMethods(db: Database, loginId: string) {
  const [ways, keys, apps, places] = await db.batch([
    db
      .select({ provider: credentials.providerId })
      .from(credentials)
      .where(eq(credentials.userId, loginId)),
    db
      .select({
        id: passkeys.id,
        name: passkeys.name,
        credential_id: passkeys.credentialID,
        created_at: passkeys.createdAt,
      })
      .from(passkeys)
      .where(eq(passkeys.userId, loginId)),
    db
      .select({ id: twoFactors.id })
      .from(twoFactors)
      .where(and(eq(twoFactors.userId, loginId), eq(twoFactors.verified, true))),
    db
      .select({
        id: sessions.id,
        user_agent: sessions.userAgent,
        created_at: sessions.createdAt,
      })
      .from(sessions)
      .where(and(eq(sessions.userId, loginId), gt(sessions.expiresAt, new Date())))
      .orderBy(desc(sessions.createdAt)),
  ]);
  return {
    providers: ways.map(({ provider }) => provider),
    passkeys: keys,
    /** Whether logins with a password need a code of an authenticator app. */
    totp: apps.length > 0,
    places,
  };
}

/** Lists authenticator apps that another key than the current one has encrypted. @param mark of the current key */
export const listTwoFactorsNotEncryptedWith = (db: Database, mark: string, limit: number) =>
  db
    .select()
    .from(twoFactors)
    .where(sql`substr(${twoFactors.secret}, 1, ${mark.length}) <> ${mark}
      OR substr(${twoFactors.backupCodes}, 1, ${mark.length}) <> ${mark}`)
    .limit(limit)
    .all();

export type TwoFactorRow = typeof twoFactors.$inferSelect;

/** Replaces secret and recovery codes unless they were changed in the meantime. */
export const replaceTwoFactor = (
  db: Database,
  { id, secret, backupCodes }: TwoFactorRow,
  replaced: Pick<TwoFactorRow, "secret" | "backupCodes">,
) =>
  db
    .update(twoFactors)
    .set(replaced)
    .where(
      and(
        eq(twoFactors.id, id),
        eq(twoFactors.secret, secret),
        eq(twoFactors.backupCodes, backupCodes),
      ),
    );

/** @returns whether it existed */
export async function deletePasskey(
  db: Database,
  loginId: string,
  id: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(passkeys)
    .where(and(eq(passkeys.id, id), eq(passkeys.userId, loginId)))
    .returning({ id: passkeys.id });
  const deleted = await changeRecorded(db, deleting, entry);
  return deleted.length > 0;
}

/** @returns whether it existed */
export async function deleteSession(
  db: Database,
  loginId: string,
  id: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(sessions)
    .where(and(eq(sessions.id, id), eq(sessions.userId, loginId)))
    .returning({ id: sessions.id });
  const deleted = await changeRecorded(db, deleting, entry);
  return deleted.length > 0;
}

/** Finds what a session may do in an account, the person's own or an organization of theirs. Undefined: nothing. */
export async function findSessionPrincipal(db: Database, id: string, accountId: string) {
  const row = await db
    .select({
      person: sessions.userId,
      role: sql<Role | null>`iif(${sessions.userId} = ${accountId}, 'owner', ${members.role})`,
      requires_second_factor: users.requires_second_factor,
      begun_with: sessions.begunWith,
      expires_at: sessions.expiresAt,
    })
    .from(sessions)
    .leftJoin(users, eq(users.id, accountId))
    .leftJoin(
      members,
      and(
        eq(members.organization_id, accountId),
        eq(members.user_id, sessions.userId),
        isCurrent(),
      ),
    )
    .where(and(eq(sessions.id, id), gt(sessions.expiresAt, new Date())))
    .get();
  if (!row || row.role === null) return undefined;
  if (row.requires_second_factor && !provesSecondFactor(row.begun_with)) return undefined;
  const { person, role, expires_at } = row;
  return {
    token_id: id,
    user_id: accountId,
    maker: person === accountId ? "" : person,
    role,
    models: null,
    expires_at: expires_at.getTime(),
  };
}

export const deleteSessions = (db: Database, loginId: string, entry: EntryRow) =>
  changeRecorded(db, db.delete(sessions).where(eq(sessions.userId, loginId)), entry);

export const deleteExpired = (db: Database, now: Date) =>
  db.batch([
    db.delete(sessions).where(lt(sessions.expiresAt, now)),
    db.delete(verifications).where(lt(verifications.expiresAt, now)),
    db.delete(deviceLogins).where(lt(deviceLogins.expires_at, now.getTime())),
  ]);

/** @returns the new count */
export async function countSignUpAttempt(
  db: Database,
  day: string,
  client: string,
): Promise<number> {
  const [row] = await db
    .insert(signUpAttempts)
    .values({ day, client, attempts: 1 })
    .onConflictDoUpdate({
      target: [signUpAttempts.day, signUpAttempts.client],
      set: { attempts: sql`${signUpAttempts.attempts} + 1` },
    })
    .returning({ attempts: signUpAttempts.attempts });
  return row?.attempts ?? 0;
}

export async function deleteSignUpAttemptsBefore(db: Database, day: string): Promise<void> {
  await db.delete(signUpAttempts).where(lt(signUpAttempts.day, day));
}
