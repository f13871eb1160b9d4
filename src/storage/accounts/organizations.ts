/** Organizations, their members and invitations. */
import { and, eq, gt, isNotNull, isNull, ne, not, or, type SQL, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { Role } from "../../protocol/organization.ts";
import { changeRecorded, insertEntry, insertIfChanged } from "../audit/entries.ts";
import { type Database, failedOn } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { members, organizationInvitations, tokens, users } from "../schema/index.ts";
import { isCurrent } from "./current-members.ts";
import { hasSecondFactor } from "./second-factors.ts";

/** Members per organization. */
export const MAX_MEMBERS = 1_000;

export type InvitationRow = typeof organizationInvitations.$inferSelect;

/**
 * Inserts an organization with its first owner. Fails (`isOverLimit`) if that user has created `max`
 * organizations that exist or still have data; undefined: any number. Fails (`isOwnerless`) if the user has
 * been deleted or suspended meanwhile.
 */
export async function insertOrganization(
  db: Database,
  row: typeof users.$inferInsert,
  ownerId: string,
  max: number | undefined,
  entry: EntryRow,
): Promise<void> {
  const count = sql`(SELECT count(*) FROM users
    WHERE created_by = ${row.created_by ?? ""} AND (deleted_at IS NULL OR username GLOB 'leaving/*'))`;
  const name = max === undefined ? row.name : sql`iif(${count} < ${max}, ${row.name}, NULL)`;
  const isThere = sql`EXISTS (SELECT 1 FROM users
    WHERE id = ${ownerId} AND suspended_at IS NULL AND deleted_at IS NULL)`;
  const updated_at = sql<number>`iif(${isThere}, ${row.updated_at}, NULL)`;
  const owner = { organization_id: row.id, user_id: ownerId, created_at: row.created_at };
  await db.batch([
    db.insert(users).values({ ...row, name: name as SQL<string>, updated_at }),
    db.insert(members).values({ ...owner, role: "owner" }),
    insertEntry(db, entry),
  ]);
}

export const isOverLimit = (error: unknown): boolean => failedOn(error, "NOT NULL", "users.name");

/**
 * Finds an organization by its username, and the role that a person has in it. Null: none.
 * @param maker the person whose second factor is looked up
 */
export const findOrganization = (
  db: Database,
  username: string,
  userId: string,
  maker: string = userId,
) =>
  db
    .select({
      organization: users,
      role: members.role,
      has_factor: hasSecondFactor(sql`${maker}`).as("has_factor"),
    })
    .from(users)
    .leftJoin(
      members,
      and(eq(members.organization_id, users.id), eq(members.user_id, userId), isCurrent()),
    )
    .where(
      and(eq(users.username, username), eq(users.kind, "organization"), isNull(users.deleted_at)),
    )
    .get();

/** Lists the organizations of a person, the one joined first first. */
export const listOrganizations = (db: Database, userId: string, limit: number) =>
  db
    .select({ organization: users, role: members.role })
    .from(members)
    .innerJoin(users, eq(users.id, members.organization_id))
    .where(and(eq(members.user_id, userId), isCurrent(), isNull(users.deleted_at)))
    .orderBy(members.organization_id)
    .limit(limit)
    .all();

const { role, created_at, lapses_at } = members;
const membership = { role, created_at, lapses_at };

export interface MemberRow {
  user: typeof users.$inferSelect;
  role: Role;
  created_at: number;
  lapses_at: number | null;
}

/** @param part of usernames and names; empty for all */
export function listMembers(db: Database, organizationId: string, part: string, keyset: Keyset) {
  const texts = sql`lower(${users.username} || ' ' || ${users.name})`;
  const isFound = part === "" ? undefined : sql`instr(${texts}, ${part.toLowerCase()}) > 0`;
  const { where, order, limit } = range([members.user_id], "asc", keyset);
  return db
    .select({ user: users, ...membership })
    .from(members)
    .innerJoin(users, eq(users.id, members.user_id))
    .where(and(eq(members.organization_id, organizationId), isFound, where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export const findMember = (db: Database, organizationId: string, username: string) =>
  db
    .select({ user: users, ...membership })
    .from(members)
    .innerJoin(users, eq(users.id, members.user_id))
    .where(and(eq(members.organization_id, organizationId), eq(users.username, username)))
    .get();

/** Whether another owner remains, who is neither suspended nor deleted, and whose membership has not lapsed. */
export const hasOtherOwner = (organizationId: SQL | string, userId: SQL | string) => sql`EXISTS (
  SELECT 1 FROM members AS others JOIN users AS owners ON owners.id = others.user_id
  WHERE others.organization_id = ${organizationId} AND others.role = 'owner'
    AND others.user_id <> ${userId} AND owners.suspended_at IS NULL AND owners.deleted_at IS NULL
    AND ${isCurrent(sql`others`)})`;

const isMember = (organizationId: string, userId: string) =>
  and(eq(members.organization_id, organizationId), eq(members.user_id, userId));

/**
 * Changes a member's role, unless an organization would have no owner.
 * @param by the role of who changes it: only owners unmake an owner, also one made a moment ago
 * @returns whether it did
 */
export async function updateRole(
  db: Database,
  organizationId: string,
  userId: string,
  role: Role,
  by: Role,
  entry: EntryRow,
): Promise<boolean> {
  const keepsOwner =
    role === "owner"
      ? undefined
      : or(ne(members.role, "owner"), hasOtherOwner(organizationId, userId));
  const changing = db
    .update(members)
    .set({ role })
    .where(and(isMember(organizationId, userId), isWithin(by), keepsOwner))
    .returning({ role: members.role });
  const changed = await changeRecorded(db, changing, entry);
  return changed.length > 0;
}

/** Appoints an owner, who may be no member yet, or one by a group. */
export const appointOwner = (
  db: Database,
  row: { organization_id: string; user_id: string; created_at: number },
  entry: EntryRow,
) =>
  changeRecorded(
    db,
    db
      .insert(members)
      .values({ ...row, role: "owner" })
      .onConflictDoUpdate({
        target: [members.organization_id, members.user_id],
        set: { role: "owner", lapses_at: null },
        setWhere: or(ne(members.role, "owner"), isNotNull(members.lapses_at)),
      }),
    entry,
  );

const isWithin = (by: Role) => (by === "owner" ? undefined : ne(members.role, "owner"));

/**
 * Removes a member with their tokens, unless the organization would have no owner.
 * @param by the role of who removes them
 * @returns whether it did
 */
export async function removeMember(
  db: Database,
  organizationId: string,
  userId: string,
  by: Role,
  entry: EntryRow,
): Promise<boolean> {
  const isGone = sql`NOT EXISTS (SELECT 1 FROM ${members} WHERE ${isMember(organizationId, userId)})`;
  const [removed] = await db.batch([
    db
      .delete(members)
      .where(
        and(
          isMember(organizationId, userId),
          isWithin(by),
          or(ne(members.role, "owner"), hasOtherOwner(organizationId, userId)),
        ),
      )
      .returning({ user_id: members.user_id }),
    insertIfChanged(db, entry),
    db
      .delete(tokens)
      .where(
        and(
          eq(tokens.user_id, organizationId),
          eq(tokens.made_by, userId),
          isNull(tokens.service_role),
          isGone,
        ),
      ),
  ]);
  return removed.length > 0;
}

/** Lists the usernames of organizations of which a person is the only owner that is not suspended. */
export const listOnlyOwned = (db: Database, userId: string) =>
  db
    .select({ username: users.username })
    .from(members)
    .innerJoin(users, eq(users.id, members.organization_id))
    .where(and(isOnlyOwner(userId), isNull(users.deleted_at)))
    .all();

const isOnlyOwner = (userId: string) =>
  and(
    eq(members.user_id, userId),
    eq(members.role, "owner"),
    sql`NOT ${hasOtherOwner(sql`${members.organization_id}`, userId)}`,
  );

/**
 * The value of `users.updated_at` in a write that ends a person's access: NULL, which the column refuses, if an
 * organization would have no owner (`isOwnerless`).
 */
export const unlessOnlyOwner = (userId: string, now: number | SQL) =>
  sql<number>`iif(EXISTS (SELECT 1 FROM ${members} WHERE ${isOnlyOwner(userId)}), NULL, ${now})`;

export const isOwnerless = (error: unknown): boolean =>
  failedOn(error, "NOT NULL", "users.updated_at");

/** Lists the ids of the organizations of a person. */
export const listMemberships = (db: Database, userId: string, limit: number) =>
  db
    .select({ organization_id: members.organization_id })
    .from(members)
    .where(eq(members.user_id, userId))
    .limit(limit)
    .all();

/** Deletes those that are not open, and inserts an invitation unless the organization has `max`. @returns whether it did */
export async function insertInvitation(
  db: Database,
  row: InvitationRow,
  max: number,
  entry: EntryRow,
): Promise<boolean> {
  const [, inserted] = await db.batch([
    db
      .delete(organizationInvitations)
      .where(
        and(
          eq(organizationInvitations.organization_id, row.organization_id),
          not(sql`coalesce(${isOpen(row.created_at)}, 0)`),
        ),
      ),
    db
      .insert(organizationInvitations)
      .select(
        sql`SELECT ${row.id}, ${row.hash}, ${row.organization_id}, ${row.role}, ${row.note},
          ${row.made_by}, ${row.created_at}, ${row.expires_at}, NULL
          WHERE (SELECT count(*) FROM organization_invitations
            WHERE organization_id = ${row.organization_id}) < ${max}`,
      )
      .returning({ id: organizationInvitations.id }),
    insertIfChanged(db, entry),
  ]);
  return inserted.length > 0;
}

/**
 * Whether an invitation is open. Its maker must still be allowed to invite: a member whose role is as high as
 * the invitation's, and at least `admin`, or a service token that has such a role.
 */
const isOpen = (now: number) =>
  and(
    gt(organizationInvitations.expires_at, now),
    or(
      sql`EXISTS (SELECT 1 FROM ${members} AS inviters JOIN ${users} AS inviter_users
          ON inviter_users.id = inviters.user_id
        WHERE inviters.organization_id = ${organizationInvitations.organization_id}
          AND inviters.user_id = ${organizationInvitations.made_by}
          AND inviter_users.suspended_at IS NULL AND ${isCurrent(sql`inviters`)}
          AND ${mayInvite(sql`inviters.role`)})`,
      sql`EXISTS (SELECT 1 FROM ${tokens} WHERE tokens.id = ${organizationInvitations.made_by}
          AND tokens.user_id = ${organizationInvitations.organization_id}
          AND (tokens.expires_at IS NULL OR tokens.expires_at > ${now})
          AND ${mayInvite(sql`tokens.service_role`)})`,
    ),
  );

const mayInvite = (role: SQL) =>
  sql`(${role} = 'owner' OR (${role} = 'admin' AND ${organizationInvitations.role} <> 'owner'))`;

export const findInvitation = (db: Database, hash: string, now: number) =>
  db
    .select({ invitation: organizationInvitations, organization: users })
    .from(organizationInvitations)
    .innerJoin(users, eq(users.id, organizationInvitations.organization_id))
    .where(and(eq(organizationInvitations.hash, hash), isNull(users.deleted_at), isOpen(now)))
    .get();

export const listInvitations = (db: Database, organizationId: string, now: number, limit: number) =>
  db
    .select()
    .from(organizationInvitations)
    .where(and(eq(organizationInvitations.organization_id, organizationId), isOpen(now)))
    .orderBy(organizationInvitations.id)
    .limit(limit)
    .all();

/** @param entryOf makes the entry of the audit log @returns whether it existed */
export async function deleteInvitation(
  db: Database,
  organizationId: string,
  id: string,
  entryOf: (invitation: InvitationRow) => EntryRow,
): Promise<boolean> {
  const isIt = and(
    eq(organizationInvitations.organization_id, organizationId),
    eq(organizationInvitations.id, id),
  );
  const invitation = await db.select().from(organizationInvitations).where(isIt).get();
  if (!invitation) return false;
  const deleting = db
    .delete(organizationInvitations)
    .where(isIt)
    .returning({ id: organizationInvitations.id });
  return (await changeRecorded(db, deleting, entryOf(invitation))).length > 0;
}

/**
 * Adds a person to the organization of an invitation that is open, and uses the invitation up. A member keeps
 * their role, and the invitation stays.
 * @returns whether the person was added
 */
export async function acceptInvitation(
  db: Database,
  invitation: InvitationRow,
  userId: string,
  now: number,
  entry: EntryRow,
): Promise<boolean> {
  const [using, adding, deleting] = accepting(db, invitation, userId, now);
  const [, added] = await db.batch([using, adding, insertIfChanged(db, entry), deleting]);
  return added.length > 0;
}

/** The condition that an invitation is open, and that its organization has room. */
export const isJoinable = ({ id, organization_id }: InvitationRow, now: number) =>
  sql`EXISTS (SELECT 1 FROM organization_invitations WHERE id = ${id} AND ${isOpen(now)})
    AND (SELECT count(*) FROM members WHERE organization_id = ${organization_id}) < ${MAX_MEMBERS}`;

/** The statements of `acceptInvitation`. */
export function accepting(
  db: Database,
  { id, organization_id }: InvitationRow,
  userId: string,
  now: number,
) {
  const hasRoom = sql`NOT EXISTS (SELECT 1 FROM ${members} WHERE ${isMember(organization_id, userId)})
    AND (SELECT count(*) FROM members WHERE organization_id = ${organization_id}) < ${MAX_MEMBERS}`;
  const isThis = eq(organizationInvitations.id, id);
  const accepted = sql`SELECT organization_id, accepted_by, role, ${now}, NULL
    FROM organization_invitations WHERE id = ${id} AND accepted_by = ${userId}`;
  return [
    db
      .update(organizationInvitations)
      .set({ accepted_by: userId })
      .where(and(isThis, isOpen(now), hasRoom)),
    db.insert(members).select(accepted).returning({ user_id: members.user_id }),
    db
      .delete(organizationInvitations)
      .where(and(isThis, eq(organizationInvitations.accepted_by, userId))),
  ] as const;
}

/** The statements that remove what an account, a person or an organization, has of organizations. */
export const leaveOrganizations = (db: Database, id: string) => [
  db.delete(members).where(or(eq(members.user_id, id), eq(members.organization_id, id))),
  db.delete(organizationInvitations).where(eq(organizationInvitations.organization_id, id)),
  db.delete(tokens).where(and(eq(tokens.made_by, id), isNull(tokens.service_role))),
];
