/**
 * The tables of better-auth, with its field names: logins, and their ways to log in to the dashboard. A
 * login has the same id as its user, who exists once a username is chosen.
 */
import { index, integer, sqliteTable, text, uniqueIndex } from "drizzle-orm/sqlite-core";

const timestamp = () => integer({ mode: "timestamp_ms" });

const timestamps = { createdAt: timestamp().notNull(), updatedAt: timestamp().notNull() };

const loginId = () =>
  text()
    .notNull()
    .references(() => logins.id, { onDelete: "cascade" });

export const logins = sqliteTable("logins", {
  id: text().primaryKey(),
  name: text().notNull(),
  email: text().notNull().unique(),
  emailVerified: integer({ mode: "boolean" }).notNull(),
  image: text(),
  /** Whether a password alone begins no session: `twoFactors` has a verified row. */
  twoFactorEnabled: integer({ mode: "boolean" }).notNull().default(false),
  ...timestamps,
});

/** How a session began. `totp`: with a password and a code. */
export type BegunWith = "password" | "totp" | "passkey" | "oidc" | "github";

export const sessions = sqliteTable(
  "sessions",
  {
    id: text().primaryKey(),
    userId: loginId(),
    /** The content of the cookie, which is signed with SECRET_KEY. */
    token: text().notNull().unique(),
    expiresAt: timestamp().notNull(),
    ipAddress: text(),
    userAgent: text(),
    begunWith: text().$type<BegunWith>(),
    ...timestamps,
  },
  (t) => [index("sessions_user").on(t.userId), index("sessions_expires").on(t.expiresAt)],
);

/** The claims of a person that an OpenID Connect provider made at their last login. */
export interface Identity {
  groups: string[];
  /** The username that it suggests. */
  username: string;
  /** When, Unix ms. */
  at: number;
}

/** Ways to log in: a password (scrypt), a GitHub account or one at an OpenID Connect provider. */
export const credentials = sqliteTable(
  "credentials",
  {
    id: text().primaryKey(),
    userId: loginId(),
    accountId: text().notNull(),
    providerId: text().notNull(),
    accessToken: text(),
    refreshToken: text(),
    idToken: text(),
    accessTokenExpiresAt: timestamp(),
    refreshTokenExpiresAt: timestamp(),
    scope: text(),
    password: text(),
    identity: text({ mode: "json" }).$type<Identity>(),
    ...timestamps,
  },
  (t) => [
    index("credentials_user").on(t.userId),
    uniqueIndex("credentials_account").on(t.providerId, t.accountId),
  ],
);

/** Logins in progress: an OAuth exchange, a passkey challenge. */
export const verifications = sqliteTable(
  "verifications",
  {
    id: text().primaryKey(),
    identifier: text().notNull(),
    value: text().notNull(),
    expiresAt: timestamp().notNull(),
    ...timestamps,
  },
  (t) => [
    index("verifications_identifier").on(t.identifier),
    index("verifications_expires").on(t.expiresAt),
  ],
);

/** Authenticator apps (TOTP), one for each login. Secret and recovery codes are encrypted with SECRET_KEY. */
export const twoFactors = sqliteTable(
  "two_factors",
  {
    id: text().primaryKey(),
    userId: loginId(),
    secret: text().notNull(),
    backupCodes: text().notNull(),
    /** Whether a code of the app was entered: until then it is off. */
    verified: integer({ mode: "boolean" }).notNull(),
    /** Wrong codes in a row, at logins. */
    failedVerificationCount: integer().notNull().default(0),
    lockedUntil: timestamp(),
  },
  (t) => [uniqueIndex("two_factors_user").on(t.userId)],
);

export const passkeys = sqliteTable(
  "passkeys",
  {
    id: text().primaryKey(),
    userId: loginId(),
    name: text(),
    publicKey: text().notNull(),
    credentialID: text().notNull(),
    counter: integer().notNull(),
    deviceType: text().notNull(),
    backedUp: integer({ mode: "boolean" }).notNull(),
    transports: text(),
    createdAt: timestamp(),
    aaguid: text(),
  },
  (t) => [
    index("passkeys_user").on(t.userId),
    uniqueIndex("passkeys_credential").on(t.credentialID),
  ],
);
