/** Accounts: users and their names, tokens, usage and storage. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Priority } from "../../protocol/common.ts";
import type { Scope } from "../../protocol/operator.ts";
import type { Role } from "../../protocol/organization.ts";
import type { TokenLimits } from "../../protocol/token-limits.ts";
import type { AccountKind } from "../../protocol/user.ts";

export const users = sqliteTable(
  "users",
  {
    id: text().primaryKey(),
    /** An organization is an account without a sign-in. */
    kind: text().$type<AccountKind>().notNull().default("user"),
    username: text().notNull().unique(),
    name: text().notNull(),
    avatar_url: text().notNull(),
    bio: text().notNull().default(""),
    /** Personal and professional websites. */
    urls: text({ mode: "json" }).$type<string[]>().notNull().default([]),
    location: text().notNull().default(""),
    company: text().notNull().default(""),
    /** When the user became an operator. Null: the account is none. */
    operator_since: integer(),
    /** Whether members of an organization need a second factor. */
    requires_second_factor: integer({ mode: "boolean" }).notNull().default(false),
    suspended_at: integer(),
    /** When an operator's recovery link set a new password, until the user dismisses the notice. */
    recovered_at: integer(),
    /** The account's Durable Object, which is made with its first prediction. */
    account_object: text(),
    /** The rowid of the user's search documents. */
    seq: integer().unique(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    /** The user who created an organization. Null: an operator did, or it is a user. */
    created_by: text(),
    /** When the account was deleted. It is hidden at once; the sweep removes its data. */
    deleted_at: integer(),
  },
  (t) => [
    index("users_operators").on(t.operator_since, t.id).where(sql`operator_since IS NOT NULL`),
    index("users_created_by").on(t.created_by).where(sql`created_by IS NOT NULL`),
    index("users_suspended").on(t.suspended_at, t.id).where(sql`suspended_at IS NOT NULL`),
  ],
);

/**
 * Current and former usernames. A former name stays reserved for its user, because the images below it in the
 * registry are still theirs.
 */
export const usernames = sqliteTable(
  "usernames",
  {
    username: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
  },
  (t) => [index("usernames_user").on(t.user_id)],
);

/**
 * How often a username was released. Images of its earlier holders stay below it in the registry,
 * and the next holder must not be able to run them.
 */
export const releasedUsernames = sqliteTable("released_usernames", {
  username: text().primaryKey(),
  times: integer().notNull(),
});

/** The people of organizations. */
export const members = sqliteTable(
  "members",
  {
    organization_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    user_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    role: text().$type<Role>().notNull(),
    created_at: integer().notNull(),
    /**
     * When a membership from a group stops to give access, unless the person logs in before. Null: a person added
     * the member, and no group changes or removes them.
     */
    lapses_at: integer(),
  },
  (t) => [
    primaryKey({ columns: [t.organization_id, t.user_id] }),
    index("members_user").on(t.user_id, t.organization_id),
  ],
);

/** Links with which one person each joins an organization. */
export const organizationInvitations = sqliteTable(
  "organization_invitations",
  {
    id: text().primaryKey(),
    /** SHA-256 of the secret in its link. */
    hash: text().notNull().unique(),
    organization_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    role: text().$type<Role>().notNull(),
    note: text().notNull(),
    /** The maker: a member or a service token. The link works while the maker may still invite. */
    made_by: text().notNull(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
    /** The user who has accepted it. The transaction that sets this adds the user and deletes the row. */
    accepted_by: text(),
  },
  (t) => [index("organization_invitations_of").on(t.organization_id, t.id)],
);

/** Access tokens, stored as SHA-256 only. */
export const tokens = sqliteTable(
  "tokens",
  {
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    hash: text().notNull().unique(),
    /** The first characters, to recognise a token by. */
    prefix: text().notNull(),
    scopes: text({ mode: "json" }).$type<Scope[]>().notNull(),
    /** The ids of the models that the token is limited to (domain/accounts/access.ts). Null: all. */
    models: text({ mode: "json" }).$type<string[]>(),
    /**
     * The priority of the token's predictions, unless they ask for a lower one. Null: any that they ask for.
     */
    priority: text().$type<Priority>(),
    /** Null: none. */
    limits: text({ mode: "json" }).$type<TokenLimits>(),
    /**
     * The person who made a token of an organization. Null: the token is of a person's own account. It
     * names no row by a foreign key: a service token outlives its maker.
     */
    made_by: text(),
    /** The role of a service token, which acts for nobody. Null: the token has the role of its maker. */
    service_role: text().$type<Role>(),
    created_at: integer().notNull(),
    expires_at: integer(),
    /** When the token was last used, accurate to a few minutes: not written on every request. */
    last_used_at: integer(),
  },
  (t) => [
    index("tokens_user").on(t.user_id, t.id),
    index("tokens_maker").on(t.made_by, t.user_id).where(sql`made_by IS NOT NULL`),
    index("tokens_service").on(t.expires_at).where(sql`service_role IS NOT NULL`),
  ],
);

/**
 * Bytes that an account takes of the database, indexes included, as estimated by triggers: its models,
 * versions, variables, tokens and uploads. Endpoints, profile and usernames are few and not counted (WITHOUT
 * ROWID, by hand in the migration).
 */
export const accountBytes = sqliteTable("account_bytes", {
  user_id: text().primaryKey(),
  bytes: integer().notNull(),
  /** The bytes before the current write: a write that frees space passes even above the limit. */
  bytes_before: integer().notNull().default(0),
});

/** Links that let someone sign up where sign-up is closed, or log in again to an account. */
export const invitations = sqliteTable(
  "invitations",
  {
    id: text().primaryKey(),
    /** SHA-256 of the secret in its link. */
    hash: text().notNull().unique(),
    note: text().notNull(),
    /** The existing user that accepting it logs in as: one created over the API. Null: a new user. */
    user_id: text().references(() => users.id),
    /** Whether this is a recovery link: it only sets a new password for a user who could already log in. */
    recovers: integer({ mode: "boolean" }).notNull(),
    made_by: text(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
    accepted_at: integer(),
  },
  (t) => [index("invitations_user").on(t.user_id)],
);

/** Logins that `auspex login` has begun in a terminal, until a token is made for them or they expire. */
export const deviceLogins = sqliteTable(
  "device_logins",
  {
    /** SHA-256 of the device code, which only the command has. */
    hash: text().primaryKey(),
    /** The code that a person copies into the browser. Only a person who has logged in can use it. */
    user_code: text().notNull().unique(),
    /** The name of the machine, as the command says. */
    name: text().notNull(),
    /** Whether the person has approved it. Null: nobody has answered. */
    approved: integer({ mode: "boolean" }),
    user_id: text().references(() => users.id, { onDelete: "cascade" }),
    polled_at: integer(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
  },
  (t) => [
    index("device_logins_expires").on(t.expires_at),
    index("device_logins_user").on(t.user_id).where(sql`user_id IS NOT NULL`),
  ],
);

/** Sign-up attempts per day (UTC) and client, to limit them. */
export const signUpAttempts = sqliteTable(
  "sign_up_attempts",
  {
    day: text().notNull(),
    /** Hash of a network or an invitation, keyed with SECRET_KEY. */
    client: text().notNull(),
    attempts: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.day, t.client] })],
);

/**
 * The subjects to which a hard budget applies (domain/money/budget.ts). The budgets themselves are in the
 * account's object: a prediction of a subject that is not here begins without asking it.
 */
export const budgeted = sqliteTable(
  "budgeted",
  {
    account_id: text()
      .notNull()
      .references(() => users.id),
    subject: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.account_id, t.subject] })],
);
