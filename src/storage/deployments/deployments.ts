/** Deployments and their releases. All changes of a deployment are one transaction, so it is always in a whole state. */
import {
  and,
  desc,
  eq,
  getTableColumns,
  type InferSelectModel,
  inArray,
  isNull,
  type SQL,
  sql,
} from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { isSeenBy } from "../accounts/visible-models.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
import { type Database, failedOn } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { deployments, hardware, models, releases, users } from "../schema/index.ts";
import { isWithinGrant } from "./grants.ts";

export type ReleaseRow = InferSelectModel<typeof releases>;

/** How long the containers of the release before are kept for a roll-back. */
const KEPT_MS = 3_600_000;

/** Releases that are kept of a deployment. */
const MAX_RELEASES = 100;

const selectDeployments = (db: Database) =>
  db
    .select({
      ...getTableColumns(deployments),
      owner: { username: users.username, name: users.name, kind: users.kind },
    })
    .from(deployments)
    .innerJoin(users, eq(users.id, deployments.owner_id));

export type DeploymentRow = NonNullable<Awaited<ReturnType<typeof findDeployment>>>;

/** Finds a deployment of the viewer's account: to others there is none. */
export const findDeployment = (db: Database, owner: string, name: string, viewer: string) =>
  selectDeployments(db)
    .where(and(eq(users.username, owner), eq(users.id, viewer), eq(deployments.name, name)))
    .get();

/** The release that a deployment shows: the one that is starting, or else the one that runs. */
export const newestRelease = sql<number>`coalesce(${deployments.next_release}, ${deployments.release})`;

/**
 * Lists an account's deployments, newest first.
 * @param ids limits the list to those that run these models; null: all
 */
export function listDeployments(
  db: Database,
  ownerId: string,
  ids: string[] | null,
  keyset: Keyset,
) {
  const { where, order, limit } = range([deployments.id], "desc", keyset);
  const runsOne =
    ids &&
    sql`EXISTS (SELECT 1 FROM releases WHERE deployment_id = ${deployments.id}
      AND number = ${newestRelease} AND ${inArray(sql`model_id`, ids)})`;
  return selectDeployments(db)
    .where(and(eq(deployments.owner_id, ownerId), runsOne ?? undefined, where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

const modelOwners = alias(users, "model_owners");
const creators = alias(users, "creators");

/** Selects releases as their owner sees them: without the name of a model that the owner no longer sees. */
const selectReleases = (db: Database, ownerId: string) =>
  db
    .select({
      ...getTableColumns(releases),
      model: sql<string | null>`${modelOwners.username} || '/' || ${models.name}`,
      pool: hardware.pool,
      creator: { username: creators.username, name: creators.name, kind: creators.kind },
    })
    .from(releases)
    .leftJoin(models, and(eq(models.id, releases.model_id), isSeenBy(ownerId)))
    .leftJoin(modelOwners, eq(modelOwners.id, models.owner_id))
    .leftJoin(hardware, eq(hardware.identifier, releases.hardware_identifier))
    .leftJoin(creators, and(eq(creators.id, releases.created_by), isNull(creators.deleted_at)));

export type ReleaseItemRow = Awaited<ReturnType<typeof listReleases>>[number];

/** Finds the releases that run or start. @param ids of deployments of this owner, 100 at most */
export const findCurrentReleases = (db: Database, ownerId: string, ids: string[]) =>
  selectReleases(db, ownerId)
    .innerJoin(deployments, eq(deployments.id, releases.deployment_id))
    .where(
      and(
        inArray(deployments.id, ids),
        sql`${releases.number} IN (${deployments.release}, ${deployments.next_release})`,
      ),
    )
    .all();

/** Lists the releases of a deployment, newest first. */
export function listReleases(
  db: Database,
  { id, owner_id }: Pick<DeploymentRow, "id" | "owner_id">,
  keyset: Keyset,
) {
  const { where, order, limit } = range([releases.number], "desc", keyset);
  return selectReleases(db, owner_id)
    .where(and(eq(releases.deployment_id, id), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export const findRelease = (
  db: Database,
  { id, owner_id }: Pick<DeploymentRow, "id" | "owner_id">,
  number: number,
) =>
  selectReleases(db, owner_id)
    .where(and(eq(releases.deployment_id, id), eq(releases.number, number)))
    .get();

/** Returns the number of the newest release of a deployment, which may have failed. */
export const findLastNumber = async (db: Database, id: string): Promise<number> => {
  const row = await db
    .select({ number: releases.number })
    .from(releases)
    .where(eq(releases.deployment_id, id))
    .orderBy(desc(releases.number))
    .limit(1)
    .get();
  return row?.number ?? 0;
};

/** A release that is being made. */
export type NewRelease = Omit<ReleaseRow, "ended_at" | "failure">;

export const isRefusedByGrant = (error: unknown): boolean =>
  failedOn(error, "NOT NULL", "releases.number");

/** Whether another request has made the same release number, or has deleted the deployment. */
export const isOutdated = (error: unknown): boolean =>
  failedOn(error, "UNIQUE", "releases.deployment_id, releases.number") ||
  failedOn(error, "FOREIGN KEY", "SQLITE_CONSTRAINT");

/**
 * Inserts a deployment with its first release. Fails (`isLimitReached`) if the owner has `max`, like
 * `insertRelease`, and like `writeWithinQuota`.
 */
export async function insertDeployment(
  db: Database,
  row: Pick<DeploymentRow, "id" | "owner_id" | "name" | "created_at">,
  release: NewRelease,
  startsAtOnce: boolean,
  { max, allowance, entry }: { max: number; allowance: StorageQuota; entry: EntryRow },
): Promise<void> {
  const count = sql`(SELECT count(*) FROM deployments WHERE owner_id = ${row.owner_id})`;
  const inserting = db
    .insert(deployments)
    .values({ ...row, id: sql`iif(${count} < ${max}, ${row.id}, NULL)` });
  const rest = releasing(db, row.owner_id, release, startsAtOnce);
  await writeWithinQuota(db, allowance, inserting, insertIfChanged(db, entry), ...rest);
}

/**
 * Inserts a release, which takes over at once or starts. Fails (`isRefusedByGrant`) if the account may not claim
 * so many containers, `isOutdated`, and like `writeWithinQuota`.
 */
export async function insertRelease(
  db: Database,
  ownerId: string,
  release: NewRelease,
  startsAtOnce: boolean,
  { allowance, entry }: { allowance: StorageQuota; entry: EntryRow },
): Promise<void> {
  const [inserting, ...rest] = releasing(db, ownerId, release, startsAtOnce);
  await writeWithinQuota(db, allowance, inserting, insertIfChanged(db, entry), ...rest);
}

function releasing(db: Database, ownerId: string, release: NewRelease, startsAtOnce: boolean) {
  const { deployment_id: id, number, created_at: now } = release;
  const isGranted = isWithinGrant(ownerId, release);
  return [
    db.insert(releases).values({ ...release, number: sql`iif(${isGranted}, ${number}, NULL)` }),
    startsAtOnce
      ? takeOver(db, id, number, now)
      : db
          .update(deployments)
          .set({ next_release: number, next_after: null })
          .where(eq(deployments.id, id)),
    endOthers(db, id, now),
    db.delete(releases).where(
      and(
        eq(releases.deployment_id, id),
        sql`${releases.number} <= ${number - MAX_RELEASES}`,
        sql`${releases.number} NOT IN (SELECT value FROM deployments,
            json_each(json_array(release, next_release, previous_release))
            WHERE deployments.id = ${id} AND value IS NOT NULL)`,
      ),
    ),
  ] as const;
}

/** Makes a release the one that runs. The one before is kept for a roll-back where both have room. */
export const takeOver = (db: Database, id: string, number: number, now: number, where?: SQL) =>
  db
    .update(deployments)
    .set({
      release: number,
      ...{ next_release: null, next_after: null },
      previous_release: sql`nullif(${deployments.release}, 0)`,
      previous_until: sql`iif((SELECT room FROM releases
        WHERE deployment_id = ${id} AND number = ${number}) = 'beside', ${now + KEPT_MS}, NULL)`,
      ...{ start_failures: 0, start_after: null, start_failure: null, starts_since: null },
    })
    .where(and(eq(deployments.id, id), where));

/** Ends the releases that neither run nor start. */
export const endOthers = (db: Database, id: string, now: number) =>
  db
    .update(releases)
    .set({ ended_at: now })
    .where(
      and(
        eq(releases.deployment_id, id),
        isNull(releases.ended_at),
        sql`${releases.number} NOT IN (SELECT value FROM deployments,
          json_each(json_array(release, next_release))
          WHERE deployments.id = ${id} AND value IS NOT NULL)`,
      ),
    );

/** Gives up the release that is starting. @returns whether it was */
export async function giveUpNext(
  db: Database,
  { id, next_release }: Pick<DeploymentRow, "id" | "next_release">,
  now: number,
  entry: EntryRow,
): Promise<boolean> {
  const [changed] = await db.batch([
    db
      .update(deployments)
      .set({ next_release: null, next_after: null })
      .where(and(eq(deployments.id, id), eq(deployments.next_release, next_release ?? 0)))
      .returning({ id: deployments.id }),
    insertIfChanged(db, entry),
    endOthers(db, id, now),
  ]);
  return changed.length > 0;
}

/** Deletes a deployment. @returns whether it existed */
export async function deleteDeployment(
  db: Database,
  id: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(deployments)
    .where(eq(deployments.id, id))
    .returning({ id: deployments.id });
  return (await changeRecorded(db, deleting, entry)).length > 0;
}

/** Finds the deployments of a model's owner that run it. @param number of a version; undefined: any */
export const findDeployedBy = (db: Database, modelId: string, number: number | undefined) =>
  db
    .selectDistinct({ owner: users.username, name: deployments.name })
    .from(releases)
    .innerJoin(deployments, eq(deployments.id, releases.deployment_id))
    .innerJoin(
      models,
      and(eq(models.id, releases.model_id), eq(models.owner_id, deployments.owner_id)),
    )
    .innerJoin(users, eq(users.id, deployments.owner_id))
    .where(
      and(
        eq(releases.model_id, modelId),
        number === undefined ? undefined : eq(releases.version_number, number),
        sql`${releases.number} IN (${deployments.release}, ${deployments.next_release})`,
      ),
    )
    .limit(10)
    .all();
