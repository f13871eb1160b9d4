/** The claims of deployments, and how their releases take over, fail and are started again. */
import { and, asc, eq, gt, isNull, lt, or, sql } from "drizzle-orm";
import { MAX_INSTANCES } from "../../protocol/deployment.ts";
import { isSeenBy } from "../accounts/visible-models.ts";
import { type Database, runBatch } from "../database.ts";
import { sealedVariables } from "../models/variables.ts";
import { deployments, hardware, models, releases, users, versions } from "../schema/index.ts";
import { endOthers, takeOver } from "./deployments.ts";

/** Whether a release runs or is starting. */
const isLive = sql`${releases.number} IN (${deployments.release}, ${deployments.next_release})`;

interface ToldOf {
  pool?: string | undefined;
  owner_id?: string | undefined;
}

/**
 * Lists the releases that claim or limit containers: those that run and start, and the one before for as long as it
 * is kept. All accounts' are listed at once, so rows have nothing that is large.
 */
export const listTold = (db: Database, now: number, { pool, owner_id }: ToldOf) =>
  db
    .select({
      deployment_id: deployments.id,
      owner_id: deployments.owner_id,
      owner: users.username,
      name: deployments.name,
      current: deployments.release,
      next: deployments.next_release,
      // A start of the release that runs does not hold up that of the next one, nor the other way around.
      start_after: sql<number | null>`iif(${releases.number} = ${deployments.next_release},
        ${deployments.next_after}, ${deployments.start_after})`,
      number: releases.number,
      model_id: releases.model_id,
      version_number: releases.version_number,
      hardware: releases.hardware_identifier,
      min_instances: releases.min_instances,
      max_instances: releases.max_instances,
      max_concurrency: releases.max_concurrency,
      has_probe: sql<boolean>`${releases.probe} IS NOT NULL`.mapWith(Boolean),
      created_by: releases.created_by,
      room: releases.room,
      granted: sql<number>`coalesce((SELECT instances FROM capacity_grants
        WHERE account_id = ${deployments.owner_id}
          AND hardware_identifier = ${releases.hardware_identifier}), 0)`,
      pool: hardware.pool,
      gpus: hardware.gpus,
    })
    .from(deployments)
    // SQLite keeps the order of a cross join: it would read all releases otherwise.
    .crossJoin(releases)
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
        eq(releases.deployment_id, deployments.id),
        sql`${releases.number} IN (${deployments.release}, ${deployments.next_release}, ${deployments.previous_release})`,
        or(gt(releases.min_instances, 0), lt(releases.max_instances, MAX_INSTANCES)),
        or(isLive, gt(deployments.previous_until, now)),
        pool === undefined ? undefined : eq(hardware.pool, pool),
        owner_id === undefined ? undefined : eq(deployments.owner_id, owner_id),
      ),
    )
    .orderBy(asc(releases.deployment_id), asc(releases.number))
    .all();

export type ToldRow = Awaited<ReturnType<typeof listTold>>[number];

type VersionName = Pick<ToldRow, "model_id" | "version_number">;

/** Finds what the container keys of versions are made of, up to 200 KB for each. @param named 40 at most */
export const findKeyed = (db: Database, named: VersionName[]) =>
  db
    .select({
      model_id: versions.model_id,
      version_number: versions.number,
      configuration: versions.configuration,
      variables: sealedVariables,
    })
    .from(versions)
    .innerJoin(models, eq(models.id, versions.model_id))
    .where(
      or(
        ...named.map(({ model_id, version_number }) =>
          and(eq(versions.model_id, model_id), eq(versions.number, version_number)),
        ),
      ),
    )
    .all();

export const findProbe = async (db: Database, id: string, number: number) => {
  const row = await db
    .select({ probe: releases.probe })
    .from(releases)
    .where(and(eq(releases.deployment_id, id), eq(releases.number, number)))
    .get();
  return row?.probe ?? null;
};

/**
 * Lists the pools of the classes that releases name, also those of which no release claims containers any more. A
 * pool may have missed that its last deployment was deleted: those of all grants are listed, without which it has
 * no containers to give back.
 */
export const listPools = async (db: Database, deploymentId?: string): Promise<string[]> => {
  const rows = await db
    .selectDistinct({ pool: hardware.pool })
    .from(hardware)
    .where(
      deploymentId === undefined
        ? sql`EXISTS (SELECT 1 FROM releases WHERE hardware_identifier = ${hardware.identifier})
            OR ${hardware.identifier} IN (SELECT hardware_identifier FROM capacity_grants)`
        : sql`EXISTS (SELECT 1 FROM releases
            WHERE hardware_identifier = ${hardware.identifier} AND deployment_id = ${deploymentId})`,
    );
  return rows.map(({ pool }) => pool);
};

/** How long starts that have been created may take to arrive in their pool. */
const ARRIVE_MS = 50_000;

/** Reserves the next start of a release's containers, so that of two sweeps at once only one starts them. */
export async function reserveStart(
  db: Database,
  { deployment_id, number, next }: Pick<ToldRow, "deployment_id" | "number" | "next">,
  now: number,
): Promise<boolean> {
  const { release, next_release, start_after, next_after } = deployments;
  const until = now + ARRIVE_MS;
  const isNext = number === next;
  const reserved = await db
    .update(deployments)
    .set(isNext ? { next_after: until } : { start_after: until })
    .where(
      and(
        eq(deployments.id, deployment_id),
        eq(isNext ? next_release : release, number),
        sql`coalesce(${isNext ? next_after : start_after}, 0) <= ${now}`,
      ),
    )
    .returning({ id: deployments.id });
  return reserved.length > 0;
}

/** Makes no other probe of a release that is starting until a time, unless this one ends before. */
export const awaitProbe = (db: Database, id: string, number: number, until: number) =>
  db
    .update(deployments)
    .set({ next_after: until })
    .where(and(eq(deployments.id, id), eq(deployments.next_release, number)));

/** Within this time, the claim of a release may start this many times its containers, and a few more. */
const STARTS_MS = 600_000;
const STARTS_PER_CONTAINER = 3;
const MORE_STARTS = 3;

/**
 * Records that a container of a release has started: the release takes over, if it was to. A release whose containers
 * start and end again and again waits until 10 minutes after the first of these starts.
 */
export async function recordStarted(
  db: Database,
  id: string,
  number: number,
  now: number,
): Promise<void> {
  const { starts, starts_since } = deployments;
  const isRecent = sql`coalesce(${starts_since}, 0) > ${now - STARTS_MS}`;
  const limit = sql`(SELECT ${STARTS_PER_CONTAINER} * min_instances + ${MORE_STARTS} FROM releases
    WHERE deployment_id = ${id} AND number = ${number})`;
  const isLoop = sql`${isRecent} AND ${starts} + 1 >= ${limit}`;
  const loop = sql`'Containers have started ' || (${starts} + 1) || ' times within 10 minutes and ended again. The log of their runner says why. They are started again within 10 minutes.'`;
  await runBatch(db, [
    takeOver(db, id, number, now, eq(deployments.next_release, number)),
    endOthers(db, id, now),
    db
      .update(deployments)
      .set({
        start_failures: 0,
        start_after: sql`iif(${isLoop}, ${starts_since} + ${STARTS_MS}, NULL)`,
        start_failure: sql`iif(${isLoop}, ${loop}, NULL)`,
        starts: sql`iif(${isRecent}, ${starts} + 1, 1)`,
        starts_since: sql`iif(${isRecent}, ${starts_since}, ${now})`,
      })
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
      .set({
        ended_at: now,
        failure: sql`iif(${releases.probe} IS NULL, ${failure}, 'The probe has failed: ' || ${failure})`,
      })
      .where(
        and(
          eq(releases.deployment_id, id),
          eq(releases.number, number),
          sql`EXISTS (SELECT 1 FROM deployments WHERE ${isNext})`,
        ),
      ),
    db.update(deployments).set({ next_release: null, next_after: null }).where(isNext),
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
