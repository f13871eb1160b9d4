/** How many containers of a hardware class the deployments of an account may claim. */
import { type SQL, sql } from "drizzle-orm";
import type { Database } from "../database.ts";

interface Claim {
  deployment_id: string;
  hardware_identifier: string;
  min_instances: number;
}

/** The containers that the other deployments of an account claim: each the most that its releases do. */
const claimedByOthers = (accountId: string, { deployment_id, hardware_identifier }: Claim) => sql`(
  SELECT coalesce(sum(most), 0) FROM (
    SELECT max(min_instances) AS most FROM deployments
    JOIN releases ON deployment_id = deployments.id AND number IN (release, next_release)
    WHERE owner_id = ${accountId} AND hardware_identifier = ${hardware_identifier}
      AND deployments.id <> ${deployment_id}
    GROUP BY deployments.id))`;

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
