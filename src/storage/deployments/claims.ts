/** The claims of deployments, and how their releases take over, fail and are started again. */
import { and, asc, eq, isNull, or, type SQL, sql } from "drizzle-orm";
import { isSeenBy } from "../accounts/visible-models.ts";
import { type Database, runBatch } from "../database.ts";
import { sealedVariables } from "../models/variables.ts";
import { deployments, hardware, models, releases, users, versions } from "../schema/index.ts";
import { endOthers, takeOver } from "./deployments.ts";

/**
 * Lists the releases that claim or limit containers: those that run and start, and the one before for as long as it
 * is kept.
 * @param pool undefined: of all pools
 */
export const listTold = (db: Database, now: number, pool: string | undefined) =>
  db
    .select({
      deployment_id: deployments.id,
      owner_id: deployments.owner_id,
      owner: users.username,
      name: deployments.name,
      current: deployments.release,
      next: deployments.next_release,
      start_after: deployments.start_after,
      number: releases.number,
      model_id: releases.model_id,
      version_number: releases.version_number,
      hardware: releases.hardware_identifier,
      min_instances: releases.min_instances,
      max_instances: releases.max_instances,
      max_concurrency: releases.max_concurrency,
      probe: releases.probe,
      created_by: releases.created_by,
      room: releases.room,
      granted: sql<number>`coalesce((SELECT instances FROM capacity_grants
        WHERE account_id = ${deployments.owner_id}
          AND hardware_identifier = ${releases.hardware_identifier}), 0)`,
      variables: sealedVariables,
      configuration: versions.configuration,
      pool: hardware.pool,
      gpus: hardware.gpus,
    })
    .from(releases)
    .innerJoin(deployments, eq(deployments.id, releases.deployment_id))
    .innerJoin(
      users,
      and(eq(users.id, deployments.owner_id), isNull(users.suspended_at), isNull(users.deleted_at)),
    )
    .innerJoin(
      models,
      and(eq(models.id, releases.model_id), isSeenBy(sql`${deployments.owner_id}`)),
    )
    .innerJoin(
      versions,
      and(eq(versions.model_id, models.id), eq(versions.number, releases.version_number)),
    )
    .innerJoin(hardware, eq(hardware.identifier, releases.hardware_identifier))
    .where(
      and(
        // The condition is as the index has it.
        sql`(min_instances > 0 OR max_instances < 100)`,
        or(
          sql`${releases.number} IN (${deployments.release}, ${deployments.next_release})`,
          sql`${releases.number} = ${deployments.previous_release} AND ${deployments.previous_until} > ${now}`,
        ),
        pool === undefined ? undefined : eq(hardware.pool, pool),
      ),
    )
    .orderBy(asc(releases.deployment_id), asc(releases.number))
    .all();

export type ToldRow = Awaited<ReturnType<typeof listTold>>[number];

/** How long starts that have been created may take to arrive in their pool. */
const ARRIVE_MS = 50_000;

const isRelease = (number: number): SQL =>
  sql`${number} IN (${deployments.release}, ${deployments.next_release})`;

/**
 * Reserves the next start of a deployment's containers, so that of two sweeps at once only one starts them.
 * @param ms how long no other start begins
 */
export async function reserveStart(
  db: Database,
  { deployment_id, number }: Pick<ToldRow, "deployment_id" | "number">,
  now: number,
  ms = ARRIVE_MS,
): Promise<boolean> {
  const reserved = await db
    .update(deployments)
    .set({ start_after: now + ms })
    .where(
      and(
        eq(deployments.id, deployment_id),
        isRelease(number),
        sql`coalesce(${deployments.start_after}, 0) <= ${now}`,
      ),
    )
    .returning({ id: deployments.id });
  return reserved.length > 0;
}

/** Records that a container of a release has started: the release takes over, if it was to. */
export async function recordStarted(
  db: Database,
  id: string,
  number: number,
  now: number,
): Promise<void> {
  await runBatch(db, [
    takeOver(db, id, number, now, eq(deployments.next_release, number)),
    endOthers(db, id, now),
    db
      .update(deployments)
      .set({ start_failures: 0, start_after: null, start_failure: null })
      .where(and(eq(deployments.id, id), eq(deployments.release, number))),
  ]);
}

/**
 * Records that a container of a release has failed to start. A release that was to take over is given up; one that
 * runs tries again after 1, 2, 4 … 30 minutes. Containers that fail together count as one.
 */
export async function recordFailed(
  db: Database,
  id: string,
  number: number,
  failure: string,
  now: number,
): Promise<void> {
  const isNext = and(eq(deployments.id, id), eq(deployments.next_release, number));
  const delay = sql`60000 * min(30, 1 << min(${deployments.start_failures}, 5))`;
  await runBatch(db, [
    db
      .update(releases)
      .set({ ended_at: now, failure })
      .where(
        and(
          eq(releases.deployment_id, id),
          eq(releases.number, number),
          sql`EXISTS (SELECT 1 FROM deployments WHERE ${isNext})`,
        ),
      ),
    db.update(deployments).set({ next_release: null, start_after: null }).where(isNext),
    db
      .update(deployments)
      .set({
        start_failures: sql`${deployments.start_failures} + 1`,
        start_after: sql`${now} + ${delay}`,
        start_failure: failure,
      })
      .where(
        and(
          eq(deployments.id, id),
          eq(deployments.release, number),
          sql`coalesce(${deployments.start_after}, 0) <= ${now + ARRIVE_MS}`,
        ),
      ),
  ]);
}
