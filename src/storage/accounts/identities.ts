/** The identities of logins at OpenID Connect providers. */
import { and, eq, sql } from "drizzle-orm";
import { OIDC } from "../../protocol/oidc.ts";
import type { Database } from "../database.ts";
import { credentials, type Identity } from "../schema/sign-in.ts";

/**
 * Stores what an OpenID Connect provider says of a person.
 * @returns the login of the person; undefined if no login has this identity
 */
export async function recordIdentity(
  db: Database,
  accountId: string,
  identity: Identity,
): Promise<string | undefined> {
  const [row] = await db
    .update(credentials)
    .set({ identity })
    .where(and(eq(credentials.providerId, OIDC), eq(credentials.accountId, accountId)))
    .returning({ userId: credentials.userId });
  return row?.userId;
}

/** Finds what an OpenID Connect provider said of a person at their last login with it. */
export const findIdentity = async (
  db: Database,
  loginId: string,
): Promise<Identity | undefined> => {
  const row = await db
    .select({ identity: credentials.identity })
    .from(credentials)
    .where(and(eq(credentials.userId, loginId), eq(credentials.providerId, OIDC)))
    .orderBy(sql`identity ->> 'at' DESC`)
    .limit(1)
    .get();
  return row?.identity ?? undefined;
};

/** Removes a login's identities at OpenID Connect providers. */
export const deleteIdentities = (db: Database, loginId: string) =>
  db
    .delete(credentials)
    .where(and(eq(credentials.userId, loginId), eq(credentials.providerId, OIDC)));
