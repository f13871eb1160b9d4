/**
 * The tables of better-auth, whose names for fields they have: who may sign in to the dashboard,
 * and how. A login has the id of its user, once it has chosen a username.
 */
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

const moment = () => integer({ mode: "timestamp_ms" });

const made = { createdAt: moment().notNull(), updatedAt: moment().notNull() };

const ofLogin = () =>
  text()
    .notNull()
    .references(() => logins.id, { onDelete: "cascade" });

export const logins = sqliteTable("logins", {
  id: text().primaryKey(),
  name: text().notNull(),
  email: text().notNull().unique(),
  emailVerified: integer({ mode: "boolean" }).notNull(),
  image: text(),
  ...made,
});

export const sessions = sqliteTable(
  "sessions",
  {
    id: text().primaryKey(),
    userId: ofLogin(),
    /** What the cookie has, with a signature that needs SECRET_KEY. */
    token: text().notNull().unique(),
    expiresAt: moment().notNull(),
    ipAddress: text(),
    userAgent: text(),
    ...made,
  },
  (t) => [index("sessions_user").on(t.userId), index("sessions_expires").on(t.expiresAt)],
);

/** What proves who it is: a password (scrypt), an account at GitHub. */
export const credentials = sqliteTable(
  "credentials",
  {
    id: text().primaryKey(),
    userId: ofLogin(),
    accountId: text().notNull(),
    providerId: text().notNull(),
    accessToken: text(),
    refreshToken: text(),
    idToken: text(),
    accessTokenExpiresAt: moment(),
    refreshTokenExpiresAt: moment(),
    scope: text(),
    password: text(),
    ...made,
  },
  (t) => [
    index("credentials_user").on(t.userId),
    uniqueIndex("credentials_account").on(t.providerId, t.accountId),
  ],
);

/** What is under way: an OAuth exchange, the challenge of a passkey. */
export const verifications = sqliteTable(
  "verifications",
  {
    id: text().primaryKey(),
    identifier: text().notNull(),
    value: text().notNull(),
    expiresAt: moment().notNull(),
    ...made,
  },
  (t) => [
    index("verifications_identifier").on(t.identifier),
    index("verifications_expires").on(t.expiresAt),
  ],
);

export const passkeys = sqliteTable(
  "passkeys",
  {
    id: text().primaryKey(),
    userId: ofLogin(),
    name: text(),
    publicKey: text().notNull(),
    credentialID: text().notNull(),
    counter: integer().notNull(),
    deviceType: text().notNull(),
    backedUp: integer({ mode: "boolean" }).notNull(),
    transports: text(),
    createdAt: moment(),
    aaguid: text(),
  },
  (t) => [
    index("passkeys_user").on(t.userId),
    uniqueIndex("passkeys_credential").on(t.credentialID),
  ],
);
