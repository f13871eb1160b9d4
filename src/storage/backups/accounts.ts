import { and, asc, gt, gte, isNotNull, isNull } from "drizzle-orm";
import type { Database } from "../database.ts";
import { users } from "../schema/index.ts";

export interface AccountOfUser {
  id: string;
  account_object: string;
}

/**
 * Lists accounts that have an object, without deleted ones.
 * @param from the id of a user, inclusive or not
 */
export async function listAccountObjects(
  db: Database,
  from: string,
  inclusive: boolean,
  limit: number,
): Promise<AccountOfUser[]> {
  const rows = await db
    .select({ id: users.id, account_object: users.account_object })
    .from(users)
    .where(
      and(
        (inclusive ? gte : gt)(users.id, from),
        isNotNull(users.account_object),
        isNull(users.deleted_at),
      ),
    )
    .orderBy(asc(users.id))
    .limit(limit)
    .all();
  return rows.flatMap(({ id, account_object }) =>
    account_object === null ? [] : [{ id, account_object }],
  );
}
