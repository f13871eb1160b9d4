import {
  and,
  eq,
  getTableColumns,
  gt,
  isNotNull,
  isNull,
  lt,
  not,
  or,
  type SQL,
  sql,
} from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { Role } from "../../protocol/organization.ts";
import type { TokenLimits } from "../../protocol/token-limits.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { members, models, runnerTokens, tokens, users } from "../schema/index.ts";
import { type StorageQuota, writeWithinQuota } from "./account-bytes.ts";
import { isCurrent } from "./current-members.ts";
import { hasSecondFactor } from "./second-factors.ts";
import { isSeenBy } from "./visible-models.ts";

/**
 * Inserts a token. Fails (`isLimitReached`) if the account has `max` unexpired tokens, and like
 * `writeWithinQuota`. In an organization each member has as many, and the service tokens together.
 */
export function insertToken(
  db: Database,
  row: typeof tokens.$inferInsert,
  max: number,
  allowance: StorageQuota,
  entry: EntryRow,
) {
  const ofWhom =
    row.service_role == null
      ? sql`service_role IS NULL AND made_by IS ${row.made_by ?? null}`
      : sql`service_role IS NOT NULL`;
  const count = sql`(SELECT count(*) FROM tokens WHERE user_id = ${row.user_id} AND ${ofWhom}
    AND (expires_at IS NULL OR expires_at > ${row.created_at}))`;
  const id = sql`iif(${count} < ${max}, ${row.id}, NULL)`;
  return writeWithinQuota(
    db,
    allowance,
    db.insert(tokens).values({ ...row, id }),
    insertIfChanged(db, entry),
  );
}

export const insertRunnerToken = (
  db: Database,
  row: typeof runnerTokens.$inferInsert,
  entry: EntryRow,
) => changeRecorded(db, db.insert(runnerTokens).values(row), entry);

/** The person whose token it is: it stops when they are suspended. A service token has none. */
const person = alias(users, "person");

/** The maker of what the token makes (domain/accounts/access.ts). */
const maker = sql<string>`CASE WHEN ${tokens.service_role} IS NOT NULL THEN ${tokens.id}
  ELSE coalesce(${tokens.made_by}, '') END`;

const makerName = sql<
  string | null
>`iif(${tokens.service_role} IS NULL, ${person.username}, ${tokens.name})`;

/** The role that the token has now. Null: its maker is no longer a member. */
const roleNow = sql<Role>`coalesce(${tokens.service_role},
  iif(${tokens.made_by} IS NULL, iif(${users.kind} = 'user', 'owner', NULL), ${members.role}))`;

const suspendedAt = sql<number | null>`coalesce(${users.suspended_at}, ${person.suspended_at})`;

/** Whether the maker lacks the second factor that the organization asks of its members. */
const lacksFactor = sql<boolean>`(${users.requires_second_factor} AND ${tokens.made_by} IS NOT NULL
  AND ${tokens.service_role} IS NULL AND NOT ${hasSecondFactor(sql`${tokens.made_by}`)})`.mapWith(
  Boolean,
);

/** Selects tokens with what they may do now. */
const selectTokens = (db: Database) =>
  db
    .select({
      token_id: tokens.id,
      user_id: tokens.user_id,
      maker: maker.as("maker"),
      maker_name: makerName.as("maker_name"),
      role: roleNow.as("role"),
      models: tokens.models,
      name: tokens.name,
      scopes: tokens.scopes,
      priority: tokens.priority,
      limits: tokens.limits,
      expires_at: tokens.expires_at,
      last_used_at: tokens.last_used_at,
      suspended_at: suspendedAt.as("suspended_at"),
      account_object: users.account_object,
      operator_since: users.operator_since,
      lacks_factor: lacksFactor.as("lacks_factor"),
    })
    .from(tokens)
    .innerJoin(users, eq(users.id, tokens.user_id))
    .leftJoin(person, and(eq(person.id, tokens.made_by), isNull(tokens.service_role)))
    .leftJoin(
      members,
      and(
        eq(members.organization_id, tokens.user_id),
        eq(members.user_id, tokens.made_by),
        isCurrent(),
      ),
    );

/** Selects a token. There is none if its maker is no longer a member of the organization. */
export const selectToken = (db: Database, hash: string) =>
  selectTokens(db).where(and(eq(tokens.hash, hash), isNotNull(roleNow)));

export const findToken = (db: Database, hash: string) => selectToken(db, hash).get();

/**
 * Finds the principal of a token. Undefined if it is revoked, if its account or maker is suspended, or if its
 * maker lacks a required second factor.
 */
export const findTokenById = (db: Database, id: string) =>
  selectTokens(db)
    .where(and(eq(tokens.id, id), isNull(suspendedAt), isNotNull(roleNow), not(lacksFactor)))
    .get();

/** The id of a token's user, for other statements of the batch: NULL if there is no such token. */
export const userOfToken = (hash: string) =>
  sql`(SELECT ${tokens.user_id} FROM ${tokens} WHERE ${tokens.hash} = ${hash})`;

/**
 * Finds when a token or session expires. Undefined if there is none with this id, or the token's maker is
 * suspended, no longer a member or without a required second factor.
 */
export async function findTokenOrSession(
  db: Database,
  id: string,
): Promise<{ expires_at: number | null } | undefined> {
  const token = selectTokens(db).where(
    and(eq(tokens.id, id), isNull(person.suspended_at), isNotNull(roleNow), not(lacksFactor)),
  );
  const session = sql`SELECT expires_at FROM sessions WHERE id = ${id}`;
  return (await token.get()) ?? (await db.all<{ expires_at: number }>(session))[0];
}

export const findRunnerToken = (db: Database, hash: string) =>
  db
    .select({
      id: runnerTokens.id,
      hardware: runnerTokens.hardware,
      last_used_at: runnerTokens.last_used_at,
    })
    .from(runnerTokens)
    .where(and(eq(runnerTokens.hash, hash), isNull(runnerTokens.revoked_at)))
    .get();

export const isRunnerToken = async (db: Database, id: string): Promise<boolean> => {
  const row = await db
    .select({ id: runnerTokens.id })
    .from(runnerTokens)
    .where(and(eq(runnerTokens.id, id), isNull(runnerTokens.revoked_at)))
    .get();
  return row !== undefined;
};

/** Writes only if the last recorded use is before `before`, so a burst is written once. */
const marking =
  (table: typeof tokens | typeof runnerTokens) =>
  async (db: Database, id: string, now: number, before: number): Promise<void> => {
    const isStale = or(isNull(table.last_used_at), lt(table.last_used_at, before));
    await db
      .update(table)
      .set({ last_used_at: now })
      .where(and(eq(table.id, id), isStale));
  };

export const markTokenUsed = marking(tokens);
export const markRunnerTokenUsed = marking(runnerTokens);

export const listTokenIds = (db: Database, accountId: string, member: string) =>
  db
    .select({ id: tokens.id })
    .from(tokens)
    .where(and(eq(tokens.user_id, accountId), eq(tokens.made_by, member)));

/** Finds the tokens of an account that have not expired, with the members who made them; service tokens have none. */
export const findLiveTokens = (db: Database, accountId: string, ids: string[], now: number) =>
  db
    .select({ id: tokens.id, name: tokens.name, made_by: tokens.made_by })
    .from(tokens)
    .where(
      and(
        sql`${tokens.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
        eq(tokens.user_id, accountId),
        or(isNull(tokens.expires_at), gt(tokens.expires_at, now)),
      ),
    );

/** Finds the models with these names, `[owner, name]`, that a user may see. */
export const findModelsByName = (db: Database, userId: string, names: string[][]) =>
  db
    .select({ id: models.id, owner: users.username, name: models.name })
    .from(sql`json_each(${JSON.stringify(names)})`)
    .innerJoin(users, sql`${users.username} = json_each.value ->> 0`)
    .innerJoin(models, and(eq(models.owner_id, users.id), sql`models.name = json_each.value ->> 1`))
    .where(isSeenBy(userId))
    .all();

/** The current names of the models a token is limited to, without deleted ones. Null: no limit. */
const modelNames: SQL<string[] | null> = sql`iif(tokens.models IS NULL, NULL, (
  SELECT json_group_array(users.username || '/' || models.name)
  FROM json_each(tokens.models) JOIN models ON models.id = json_each.value
  JOIN users ON users.id = models.owner_id WHERE ${isSeenBy(sql`tokens.user_id`)}))`.mapWith(
  (text: string) => JSON.parse(text),
);

const listed = { ...getTableColumns(tokens), models: modelNames };

export const findModelNames = (db: Database, id: string) =>
  db.select({ models: modelNames }).from(tokens).where(eq(tokens.id, id)).get();

/** Lists the tokens of an organization, newest first. @param maker only those of this member; undefined: all */
export function listOrganizationTokens(
  db: Database,
  organizationId: string,
  maker: string | undefined,
  keyset: Keyset,
) {
  const { where, order, limit } = range([tokens.id], "desc", keyset);
  return db
    .select({ ...listed, maker: users.username })
    .from(tokens)
    .leftJoin(users, and(eq(users.id, tokens.made_by), isNull(users.deleted_at)))
    .where(and(eq(tokens.user_id, organizationId), isMadeBy(maker), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export type OrganizationTokenRow = Awaited<ReturnType<typeof listOrganizationTokens>>[number];

const isMadeBy = (maker: string | undefined) =>
  maker === undefined ? undefined : and(eq(tokens.made_by, maker), isNull(tokens.service_role));

export type TokenInsert = typeof tokens.$inferInsert;
export type TokenRow = Awaited<ReturnType<typeof listTokens>>[number];
export type RunnerTokenRow = typeof runnerTokens.$inferSelect;

export function listTokens(db: Database, userId: string, keyset: Keyset) {
  const { where, order, limit } = range([tokens.id], "desc", keyset);
  return db
    .select(listed)
    .from(tokens)
    .where(and(eq(tokens.user_id, userId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

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

/** Finds a token that a caller manages, as lists have it. @param maker the member whose token it must be; undefined: any */
export const findManagedToken = (
  db: Database,
  id: string,
  userId: string | undefined,
  maker: string | undefined,
) =>
  db
    .select(listed)
    .from(tokens)
    .where(and(eq(tokens.id, id), isOf(userId, maker)))
    .get();

const isOf = (userId: string | undefined, maker: string | undefined) =>
  and(userId === undefined ? undefined : eq(tokens.user_id, userId), isMadeBy(maker));

/** Changes the limits of a token. Fails like `writeWithinQuota`. */
export const setTokenLimits = (
  db: Database,
  id: string,
  limits: TokenLimits | null,
  allowance: StorageQuota,
  entry: EntryRow,
) =>
  writeWithinQuota(
    db,
    allowance,
    db.update(tokens).set({ limits }).where(eq(tokens.id, id)).returning({ id: tokens.id }),
    insertIfChanged(db, entry),
  );

/**
 * Deletes the row, because an account may create and revoke any number.
 * @param userId the owner it must have; undefined: any
 * @param maker the member whose token it must be; undefined: any
 * @param entryOf makes the entry of the audit log
 * @returns whether it existed
 */
export async function revokeToken(
  db: Database,
  id: string,
  userId: string | undefined,
  maker: string | undefined,
  entryOf: (token: { user_id: string; name: string }) => EntryRow,
): Promise<boolean> {
  const isIt = and(eq(tokens.id, id), isOf(userId, maker));
  const token = await db
    .select({ user_id: tokens.user_id, name: tokens.name })
    .from(tokens)
    .where(isIt)
    .get();
  if (!token) return false;
  const deleting = db.delete(tokens).where(isIt).returning({ id: tokens.id });
  const revoked = await changeRecorded(db, deleting, entryOf(token));
  return revoked.length > 0;
}

/** @returns whether it existed and was not revoked yet */
export async function revokeRunnerToken(
  db: Database,
  id: string,
  now: number,
  entryOf: (token: { name: string }) => EntryRow,
): Promise<boolean> {
  const isIt = and(eq(runnerTokens.id, id), isNull(runnerTokens.revoked_at));
  const token = await db.select({ name: runnerTokens.name }).from(runnerTokens).where(isIt).get();
  if (!token) return false;
  const revoking = db
    .update(runnerTokens)
    .set({ revoked_at: now })
    .where(isIt)
    .returning({ id: runnerTokens.id });
  const revoked = await changeRecorded(db, revoking, entryOf(token));
  return revoked.length > 0;
}
