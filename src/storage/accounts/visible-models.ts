/** The models that an account sees, and what it may do with those of other accounts. */
import { eq, isNotNull, ne, or, type SQL, sql } from "drizzle-orm";
import type { ShareLevel } from "../../protocol/organization.ts";
import type { Database } from "../database.ts";
import { collaborators, members, models } from "../schema/index.ts";
import { isCurrent } from "./current-members.ts";
import { lacksFactorOf } from "./second-factors.ts";

/**
 * The level of an account for models of other accounts, as a column of a query of `models`: by a share, or as
 * a person in the organization that owns the model, with the second factor that it requires. A suspended owner's private models are nobody's.
 */
export const levelOf = (viewerId: string | SQL | undefined) =>
  viewerId === undefined
    ? sql<null>`NULL`
    : sql<ShareLevel | null>`iif(
  EXISTS (SELECT 1 FROM users AS suspended
    WHERE suspended.id = ${models.owner_id} AND suspended.suspended_at IS NOT NULL),
  NULL, coalesce(
    (SELECT level FROM ${collaborators} WHERE model_id = ${models.id} AND account_id = ${viewerId}),
    (SELECT 'run' FROM ${members}
      WHERE organization_id = ${models.owner_id} AND user_id = ${viewerId} AND ${isCurrent()}
        AND NOT ${lacksFactorOf(sql`organization_id`, sql`members.user_id`)})))`;

/**
 * Whether a user may see the model. The query checks this itself, so that hidden models take as long as
 * missing ones.
 */
export const isSeenBy = (viewerId: string | SQL | undefined) =>
  or(
    ne(models.visibility, "private"),
    ...(viewerId === undefined
      ? []
      : [eq(models.owner_id, viewerId), isNotNull(levelOf(viewerId))]),
  );

/** Whether an account may see a model. True for one that was deleted. */
export const isModelSeen = async (db: Database, id: string, viewerId: string): Promise<boolean> => {
  const row = await db
    .select({ isSeen: sql<number>`${isSeenBy(viewerId)}` })
    .from(models)
    .where(eq(models.id, id))
    .get();
  return row === undefined || row.isSeen === 1;
};
