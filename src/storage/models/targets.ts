/** What a prediction runs: a model, and one of its versions. */
import { and, eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import type { Database } from "../database.ts";
import { models, users, versions } from "../schema/index.ts";
import { answeringNumber, isSeenBy, latestNumber } from "./models.ts";
import { sealedVariables } from "./variables.ts";

export interface TargetName {
  owner: string;
  name: string;
  /** Undefined: the latest version. */
  number: number | undefined;
}

/**
 * For one batch: the model with its latest version, as far as predictions need them, and the version
 * that is named. A viewer that is NULL sees nothing.
 */
export const selectTarget = (db: Database, target: TargetName, viewer: string | SQL) =>
  [selectModel(db, target, viewer), selectVersion(db, target, viewer)] as const;

const isNamed = ({ owner, name }: TargetName, viewer: string | SQL) =>
  and(
    // For nobody not even the owner is looked up: that would take longer if there is one.
    eq(users.username, sql`iif(${viewer} IS NOT NULL, ${owner}, NULL)`),
    eq(models.name, name),
    isSeenBy(viewer),
  );

const selectModel = (db: Database, target: TargetName, viewer: string | SQL) =>
  db
    .select({
      id: models.id,
      name: models.name,
      owner_id: models.owner_id,
      owner: users.username,
      visibility: models.visibility,
      hardware_identifier: models.hardware_identifier,
      variables: sealedVariables,
      /** The latest version whose compatibilities are known. */
      answering_number: answeringNumber.as("answering_number"),
      latest_version: versions,
    })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .leftJoin(versions, and(eq(versions.model_id, models.id), eq(versions.number, latestNumber)))
    .where(isNamed(target, viewer));

/** The latest one has come with the model. No version has the number 0. */
const selectVersion = (db: Database, target: TargetName, viewer: string | SQL) =>
  db
    .select(getTableColumns(versions))
    .from(versions)
    .innerJoin(models, eq(models.id, versions.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(and(isNamed(target, viewer), eq(versions.number, target.number ?? 0)));

export type TargetRow = Awaited<ReturnType<typeof selectModel>>[number];
