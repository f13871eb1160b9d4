/** Finds the models that a user may see among some names. */
import { and, eq, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { models, users } from "../schema/index.ts";
import { isSeenBy } from "./models.ts";

/** @param names `owner/name`. Owners and names are one parameter each: D1 takes 100. */
export async function namesSeenBy(
  db: Database,
  viewerId: string,
  names: ReadonlySet<string>,
): Promise<Set<string>> {
  if (names.size === 0) return new Set();
  const parts = [...names].map((name) => name.split("/"));
  const among = (part: 0 | 1) =>
    sql`(SELECT value FROM json_each(${JSON.stringify(parts.map((of) => of[part]))}))`;
  const rows = await db
    .select({ owner: users.username, name: models.name })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(
      and(
        sql`${users.username} IN ${among(0)}`,
        sql`${models.name} IN ${among(1)}`,
        isSeenBy(viewerId),
      ),
    )
    .all();
  // A row may have the name of one model and the owner of another, so rows are compared with `names`.
  return new Set(rows.map(({ owner, name }) => `${owner}/${name}`).filter((one) => names.has(one)));
}
