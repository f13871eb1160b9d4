/** The deployment that a request names, with the model and the version of its release. */
import { and, eq, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import { isSeenBy } from "../accounts/visible-models.ts";
import type { Database } from "../database.ts";
import { selectModel, selectVersion } from "../models/targets.ts";
import { deployments, hardware, models, releases, users, versions } from "../schema/index.ts";

const selectRelease = (db: Database, { owner, name, number }: DeploymentName, viewer: string) =>
  db
    .select({
      id: deployments.id,
      owner: users.username,
      name: deployments.name,
      /** Null: none has started. */
      release: releases.number,
      model_id: releases.model_id,
      version_number: releases.version_number,
      hardware_identifier: releases.hardware_identifier,
      max_instances: releases.max_instances,
      idle_seconds: releases.idle_seconds,
      max_concurrency: releases.max_concurrency,
      priority: releases.priority,
      fallbacks: releases.fallbacks,
      // Nulls if the class was deleted.
      pool: hardware.pool,
      gpus: hardware.gpus,
      price_per_hour: hardware.price_per_hour,
    })
    .from(deployments)
    .innerJoin(users, eq(users.id, deployments.owner_id))
    .leftJoin(
      releases,
      and(
        eq(releases.deployment_id, deployments.id),
        eq(releases.number, number ?? deployments.release),
      ),
    )
    .leftJoin(hardware, eq(hardware.identifier, releases.hardware_identifier))
    .where(and(eq(users.username, owner), eq(users.id, viewer), eq(deployments.name, name)));

type DeployedRow = Awaited<ReturnType<typeof selectRelease>>[number];

/** A deployment that has a release. */
export type Deployed = DeployedRow & { release: number; hardware_identifier: string };

export const isReleased = (row: DeployedRow): row is Deployed => row.release !== null;

export interface DeploymentName {
  owner: string;
  name: string;
  /** The number of a release. Undefined: the one that runs. */
  number?: number | undefined;
}

/**
 * Selects a deployment of the viewer's account in one batch, with its model and version as far as the account sees
 * them.
 */
export function selectDeployed(db: Database, named: DeploymentName, viewer: string) {
  const { owner, name, number } = named;
  const inRelease = (column: SQLiteColumn) => sql`(SELECT ${column} FROM deployments
    JOIN releases ON deployment_id = deployments.id AND number = ${number ?? sql`release`}
    WHERE owner_id = (SELECT id FROM users WHERE username = ${owner} AND id = ${viewer})
      AND deployments.name = ${name})`;
  const isRun = and(sql`${models.id} = ${inRelease(releases.model_id)}`, isSeenBy(viewer));
  return [
    selectRelease(db, named, viewer),
    selectModel(db, viewer, isRun),
    selectVersion(db, and(isRun, sql`${versions.number} = ${inRelease(releases.version_number)}`)),
  ] as const;
}
