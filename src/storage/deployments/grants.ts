/** How many containers of a hardware class the deployments of an account may claim. */
import { eq, ne, type SQL, sql } from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { changeRecorded } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import { capacityGrants } from "../schema/index.ts";

interface Claim {
  deployment_id: string;
  hardware_identifier: string;
  min_instances: number;
}

/**
 * The containers of a class that the deployments of an account claim: each the most that its releases do.
 * @param but a deployment that does not count
 */
const claimedOf = (accountId: string, hardware: string | SQL, but = "") => sql`(
  SELECT coalesce(sum(most), 0) FROM (
    SELECT max(min_instances) AS most FROM deployments
    JOIN releases AS claiming ON deployment_id = deployments.id AND number IN (release, next_release)
    WHERE owner_id = ${accountId} AND claiming.hardware_identifier = ${hardware}
      AND deployments.id <> ${but}
    GROUP BY deployments.id))`;

const claimedByOthers = (accountId: string, { deployment_id, hardware_identifier }: Claim) =>
  claimedOf(accountId, hardware_identifier, deployment_id);

const granted = (accountId: string, { hardware_identifier }: Claim) => sql`coalesce((
  SELECT instances FROM capacity_grants
  WHERE account_id = ${accountId} AND hardware_identifier = ${hardware_identifier}), 0)`;

/** Whether an account may claim the containers of a release. */
export const isWithinGrant = (accountId: string, claim: Claim): SQL =>
  claim.min_instances === 0
    ? sql`1`
    : sql`${claimedByOthers(accountId, claim)} + ${claim.min_instances} <= ${granted(accountId, claim)}`;

/** Finds what an account may claim of a class, and what its other deployments claim. */
export async function findGrant(db: Database, accountId: string, claim: Claim) {
  const [row] = await db.all<{ granted: number; claimed: number }>(
    sql`SELECT ${granted(accountId, claim)} AS granted, ${claimedByOthers(accountId, claim)} AS claimed`,
  );
  return row ?? { granted: 0, claimed: 0 };
}

/** Lists what an account may claim, with what its deployments claim. */
export const listGrants = (db: Database, accountId: string) =>
  db
    .select({
      hardware_identifier: capacityGrants.hardware_identifier,
      instances: capacityGrants.instances,
      claimed: sql<number>`${claimedOf(accountId, sql`${capacityGrants.hardware_identifier}`)}`,
    })
    .from(capacityGrants)
    .where(eq(capacityGrants.account_id, accountId))
    .orderBy(capacityGrants.hardware_identifier)
    .all();

/** Sets how many containers of a class an account may claim. */
export const saveGrant = (
  db: Database,
  row: typeof capacityGrants.$inferInsert,
  entry: EntryRow,
): Promise<unknown> =>
  changeRecorded(
    db,
    db
      .insert(capacityGrants)
      .values(row)
      .onConflictDoUpdate({
        target: [capacityGrants.account_id, capacityGrants.hardware_identifier],
        set: { instances: row.instances },
        setWhere: ne(capacityGrants.instances, row.instances),
      }),
    entry,
  );
