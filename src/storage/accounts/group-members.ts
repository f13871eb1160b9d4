/** Memberships that come from the groups of an OpenID Connect provider, and lapse. */
import { and, eq, isNotNull, isNull, ne, not, or, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { Role } from "../../protocol/organization.ts";
import { insertForMembers, insertIf } from "../audit/entries.ts";
import { type Database, runBatch } from "../database.ts";
import { members, tokens, users } from "../schema/index.ts";
import { hasOtherOwner, MAX_MEMBERS } from "./organizations.ts";

/** Finds organizations by their usernames. */
export const findOrganizations = (db: Database, usernames: string[]) =>
  db
    .select({ id: users.id, username: users.username })
    .from(users)
    .where(
      and(
        isIn(users.username, usernames),
        eq(users.kind, "organization"),
        isNull(users.deleted_at),
      ),
    )
    .all();

/** A statement of D1 has at most 100 parameters. */
const isIn = (column: SQLiteColumn, values: string[]) =>
  sql`${column} IN (SELECT value FROM json_each(${JSON.stringify(values)}))`;

type Statement = Parameters<Database["batch"]>[0][number];

export interface GroupMembership {
  organization_id: string;
  role: Role;
}

/**
 * Sets the memberships of a person that come from groups: adds and changes those given, and removes others with
 * their tokens. The last owner of an organization stays one. Members whom a person added stay as they are.
 */
export async function setGroupMemberships(
  db: Database,
  userId: string,
  memberships: GroupMembership[],
  { now, lapsesAt }: { now: number; lapsesAt: number },
  entryOf: (action: "member.added" | "member.updated" | "member.removed") => EntryRow,
): Promise<void> {
  const keepsOwner = or(
    ne(members.role, "owner"),
    hasOtherOwner(sql`members.organization_id`, userId),
  );
  const isFromGroups = and(eq(members.user_id, userId), isNotNull(members.lapses_at));
  const isWanted = isIn(
    members.organization_id,
    memberships.map(({ organization_id }) => organization_id),
  );
  await runBatch<Statement>(db, [
    ...memberships.flatMap(({ organization_id, role }) => [
      insertIf(
        db,
        {
          ...entryOf("member.added"),
          account_id: organization_id,
          changes: JSON.stringify({ before: { role: null }, after: { role } }),
        },
        sql`(SELECT count(*) FROM members WHERE organization_id = ${organization_id}) < ${MAX_MEMBERS}
          AND NOT EXISTS (SELECT 1 FROM members WHERE organization_id = ${organization_id} AND user_id = ${userId})`,
      ),
      insertForMembers(
        db,
        entryOf("member.updated"),
        sql`${isFromGroups} AND organization_id = ${organization_id} AND role <> ${role} AND ${keepsOwner}`,
        sql`${role}`,
      ),
      db
        .insert(members)
        .select(
          sql`SELECT ${organization_id}, ${userId}, ${role}, ${now}, ${lapsesAt} WHERE
            (SELECT count(*) FROM members WHERE organization_id = ${organization_id}) < ${MAX_MEMBERS}
            OR EXISTS (SELECT 1 FROM members WHERE organization_id = ${organization_id} AND user_id = ${userId})`,
        )
        .onConflictDoUpdate({
          target: [members.organization_id, members.user_id],
          set: {
            role: sql`iif(${keepsOwner}, excluded.role, 'owner')`,
            lapses_at: sql`excluded.lapses_at`,
          },
          setWhere: isNotNull(members.lapses_at),
        }),
    ]),
    insertForMembers(
      db,
      entryOf("member.removed"),
      sql`${isFromGroups} AND NOT ${isWanted} AND ${keepsOwner}`,
      null,
    ),
    db.delete(members).where(and(isFromGroups, not(isWanted), keepsOwner)),
    db
      .delete(tokens)
      .where(
        and(
          eq(tokens.made_by, userId),
          isNull(tokens.service_role),
          sql`NOT EXISTS (SELECT 1 FROM members WHERE organization_id = ${tokens.user_id} AND user_id = ${userId})`,
        ),
      ),
  ]);
}
