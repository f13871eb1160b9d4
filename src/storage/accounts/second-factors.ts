import { type SQL, sql } from "drizzle-orm";
import { OIDC } from "../../protocol/oidc.ts";
import type { BegunWith } from "../schema/sign-in.ts";

/** Whether a person can log in with a second factor: an authenticator app, a passkey or OpenID Connect. */
export const hasSecondFactor = (userId: SQL) =>
  sql<boolean>`(
  EXISTS (SELECT 1 FROM two_factors WHERE two_factors.user_id = ${userId} AND verified)
  OR EXISTS (SELECT 1 FROM passkeys WHERE passkeys.user_id = ${userId})
  OR EXISTS (SELECT 1 FROM credentials
    WHERE credentials.user_id = ${userId} AND provider_id = ${sql.raw(`'${OIDC}'`)}))`.mapWith(
    Boolean,
  );

/** Whether the organization of a row of `members` asks for a second factor that its person lacks. */
export const lacksFactorOf = (organization: SQL, userId: SQL) =>
  sql<boolean>`(
  (SELECT requires_second_factor FROM users AS strict WHERE strict.id = ${organization})
  AND NOT ${hasSecondFactor(userId)})`.mapWith(Boolean);

const WITH_TWO = ["totp", "passkey", "oidc"] satisfies BegunWith[] as readonly string[];

/** Whether a session that began so has proved a second factor. */
export const provesSecondFactor = (begun: string | null): boolean =>
  begun !== null && WITH_TWO.includes(begun);
