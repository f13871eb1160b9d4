/** The target of a prediction: a model, and one of its versions. */
import { and, desc, eq, getTableColumns, gt, inArray, ne, or, type SQL, sql } from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { Compatibilities } from "../../protocol/model.ts";
import { isSeenBy, levelOf } from "../accounts/visible-models.ts";
import type { Database } from "../database.ts";
import { deployments, hardware, models, releases, users, versions } from "../schema/index.ts";
import { answeringNumber, defaultNumber } from "./models.ts";
import { sealedVariables } from "./variables.ts";
import { pricesBetween } from "./version-prices.ts";

export interface TargetName {
  owner: string;
  name: string;
  /** The number of the version. Undefined: the default version. */
  number: number | undefined;
}

/** The class that a model asks for, and the one that a version asks for. */
const ofModel = alias(hardware, "model_hardware");
const ofVersion = alias(hardware, "version_hardware");

/**
 * The facts of a hardware class that predictions need. Nulls if it was deleted, or none is asked for. D1
 * answers a batch by the names of columns, so each needs its own.
 */
const facts = (table: typeof ofModel | typeof ofVersion, prefix: string) => ({
  pool: sql<string | null>`${table.pool}`.as(`${prefix}_pool`),
  gpus: sql<number | null>`${table.gpus}`.as(`${prefix}_gpus`),
  price_per_hour: sql<number | null>`${table.price_per_hour}`.as(`${prefix}_price_per_hour`),
});

/** How long a row may be used, with room for the clocks of other machines. */
const USED_MS = 60_000;

/** The prices of the version, as far as they count while the row is used. */
const prices = () => pricesBetween(Date.now() - USED_MS, Date.now() + USED_MS);

const isOfModel = eq(
  ofModel.identifier,
  sql`coalesce(${models.hardware_identifier}, ${DEFAULT_HARDWARE})`,
);
const isOfVersion = eq(
  ofVersion.identifier,
  sql`${versions.configuration} ->> 'hardware_identifier'`,
);

/**
 * Selects the target in one batch: the model with its default version, as far as predictions need them, and
 * the version that is named. A viewer that is NULL sees nothing.
 */
export const selectTarget = (db: Database, target: TargetName, viewer: string | SQL) => {
  const isTarget = isNamed(target, viewer);
  return [
    selectModel(db, viewer, isTarget),
    selectVersion(db, and(isTarget, eq(versions.number, target.number ?? 0))),
  ] as const;
};

const isNamed = ({ owner, name }: TargetName, viewer: string | SQL) =>
  and(
    // Without a viewer the query looks no owner up: it would take longer if the owner exists.
    eq(users.username, sql`iif(${viewer} IS NOT NULL, ${owner}, NULL)`),
    eq(models.name, name),
    isSeenBy(viewer),
  );

export const selectModel = (db: Database, viewer: string | SQL, where: SQL | undefined) =>
  db
    .select({
      id: models.id,
      name: models.name,
      owner_id: models.owner_id,
      owner: users.username,
      visibility: models.visibility,
      level: levelOf(viewer).as("level"),
      hardware_identifier: models.hardware_identifier,
      hardware: facts(ofModel, "model"),
      variables: sealedVariables,
      answering_number: answeringNumber.as("answering_number"),
      default_version: versions,
      default_hardware: facts(ofVersion, "version"),
      default_prices: prices().as("version_prices"),
    })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .leftJoin(ofModel, isOfModel)
    .leftJoin(versions, and(eq(versions.model_id, models.id), eq(versions.number, defaultNumber)))
    .leftJoin(ofVersion, isOfVersion)
    .where(where);

/** Selects the version that is named. The default one has come with the model. No version has the number 0. */
export const selectVersion = (db: Database, where: SQL | undefined) =>
  db
    .select({
      ...getTableColumns(versions),
      hardware: facts(ofVersion, "version"),
      prices: prices().as("version_prices"),
    })
    .from(versions)
    .innerJoin(models, eq(models.id, versions.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .leftJoin(ofVersion, isOfVersion)
    .where(where);

export type TargetRow = Awaited<ReturnType<typeof selectModel>>[number];
export type TargetVersionRow = Awaited<ReturnType<typeof selectVersion>>[number];

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

/**
 * Lists models that a user may see and whose default version has one of these compatibilities: the user's
 * deployments, whose release must have it, the user's own models, then those of others, each newest first, so that
 * others' models displace none of the user's.
 * @param ids limits the list to these; null: all
 */
export async function listCallable(
  db: Database,
  userId: string,
  ids: string[] | null,
  flags: readonly (keyof Compatibilities)[],
  limit: number,
) {
  const isOwn = eq(models.owner_id, userId);
  const isCovered = ids ? inArray(models.id, ids) : undefined;
  const isCompatible = or(...flags.map((flag) => sql`${versions.compatibilities} ->> ${flag}`));
  const deployed = db
    .select({
      owner: users.username,
      name: deployments.name,
      created_at: versions.created_at,
      compatibilities: versions.compatibilities,
    })
    .from(deployments)
    .innerJoin(users, eq(users.id, deployments.owner_id))
    .innerJoin(
      releases,
      and(eq(releases.deployment_id, deployments.id), eq(releases.number, deployments.release)),
    )
    .innerJoin(models, and(eq(models.id, releases.model_id), isSeenBy(userId)))
    .innerJoin(
      versions,
      and(eq(versions.model_id, models.id), eq(versions.number, releases.version_number)),
    )
    .where(
      and(eq(deployments.owner_id, userId), gt(releases.max_instances, 0), isCovered, isCompatible),
    )
    .orderBy(desc(deployments.id))
    .limit(limit);
  const select = (which: SQL | undefined) =>
    db
      .select({
        owner: users.username,
        name: models.name,
        created_at: versions.created_at,
        compatibilities: versions.compatibilities,
      })
      .from(models)
      .innerJoin(users, eq(users.id, models.owner_id))
      .innerJoin(
        versions,
        and(eq(versions.model_id, models.id), eq(versions.number, answeringNumber)),
      )
      .where(and(which, isCovered, isCompatible))
      .orderBy(desc(models.id))
      .limit(limit);
  const [named, own, others] = await db.batch([
    deployed,
    select(isOwn),
    select(and(isSeenBy(userId), ne(models.owner_id, userId))),
  ]);
  return [...named, ...own, ...others].slice(0, limit);
}
