/** The users of the deployment, as operators see them. */
import { and, asc, eq, isNotNull, ne, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { usernames, users } from "../schema/index.ts";

/** @param proof fingerprint of the current OPERATOR_TOKEN */
export function listOperators(db: Database, proof: string, keyset: Keyset) {
  const { where, order, limit } = range([users.id], "desc", keyset);
  return db
    .select()
    .from(users)
    .where(and(eq(users.operator_proof, proof), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Suspended accounts, the latest first. */
export function listSuspendedUsers(db: Database, keyset: Keyset) {
  const { where, order, limit } = range([users.suspended_at, users.id], "desc", keyset);
  return db
    .select()
    .from(users)
    .where(and(isNotNull(users.suspended_at), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export interface Activity {
  id: string;
  models: number;
  /** The last use of a token, a session or a prediction; 0: none of them exists any more. */
  used_at: number;
}

/** Finds the activity of a page of users, in one statement: four ranges of indexes for each user. */
export const findActivity = (db: Database, ids: string[]): Promise<Activity[]> =>
  db.all<Activity>(sql`SELECT value AS id,
    (SELECT count(*) FROM models WHERE owner_id = value) AS models,
    max(
      coalesce((SELECT max(last_used_at) FROM tokens WHERE user_id = value), 0),
      coalesce((SELECT max(updated_at) FROM sessions WHERE user_id = value), 0),
      coalesce((SELECT max(told_at) FROM account_counts WHERE user_id = value), 0)
    ) AS used_at
    FROM json_each(${JSON.stringify(ids)})`);

/** Former usernames, which stay reserved for the user. */
export const listFormerUsernames = (db: Database, userId: string, current: string) =>
  db
    .select({ username: usernames.username })
    .from(usernames)
    .where(and(eq(usernames.user_id, userId), ne(usernames.username, current)))
    .orderBy(asc(usernames.username))
    .all();
