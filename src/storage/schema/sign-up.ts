/** Invitations, and the limit on sign-up attempts. */
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { users } from "./accounts.ts";

/** Links that let someone sign up where sign-up is closed, or sign in again to an account. */
export const invitations = sqliteTable(
  "invitations",
  {
    id: text().primaryKey(),
    /** SHA-256 of the secret in its link. */
    hash: text().notNull().unique(),
    /** The operator's note on who it is for. */
    note: text().notNull(),
    /** The existing user that accepting it signs in as: one created over the API. Null: a new user. */
    user_id: text().references(() => users.id),
    /** Whether this is a recovery link: it only sets a new password for a user who could already sign in. */
    recovers: integer({ mode: "boolean" }).notNull(),
    /** The operator who created it. */
    made_by: text(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
    accepted_at: integer(),
  },
  (t) => [index("invitations_user").on(t.user_id)],
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
