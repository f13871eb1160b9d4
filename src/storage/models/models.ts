import {
  and,
  eq,
  gte,
  type InferSelectModel,
  inArray,
  notInArray,
  type SQL,
  type SQLWrapper,
  sql,
} from "drizzle-orm";
import { alias } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { DEFAULT_HARDWARE } from "../../protocol/hardware.ts";
import type { CategorySummary, ModelSort } from "../../protocol/model.ts";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { isSeenBy, levelOf } from "../accounts/visible-models.ts";
import { insertIfChanged } from "../audit/entries.ts";
import { type Database, failedOn, runBatch } from "../database.ts";
import { keepUploadsOf } from "../files/uploads.ts";
import { type Direction, type Keyset, range } from "../keyset.ts";
import {
  categories,
  hardware,
  listings,
  modelCategories,
  modelCounts,
  models,
  pools,
  users,
  versions,
} from "../schema/index.ts";

export type ModelRow = InferSelectModel<typeof models>;

const summaries: SQL<CategorySummary[]> = sql`(
  SELECT json_group_array(json_object('name', ${categories.name}, 'slug', ${categories.slug}))
  FROM ${modelCategories} JOIN ${categories} ON ${categories.slug} = ${modelCategories.category_slug}
  WHERE ${modelCategories.model_id} = ${models.id})`.mapWith((text: string) => JSON.parse(text));

/**
 * A model in lists and searches: `models` joined with `users` and `modelCounts`. In a batch D1
 * returns rows by column name, so two columns of one name would collapse into one.
 */
export const modelItem = {
  id: models.id,
  name: models.name,
  visibility: models.visibility,
  description: models.description,
  source_url: models.source_url,
  license_url: models.license_url,
  paper_url: models.paper_url,
  cover_image_url: models.cover_image_url,
  created_at: models.created_at,
  updated_at: models.updated_at,
  owner: {
    id: sql<string>`${users.id}`.as("user_id"),
    username: users.username,
    avatar_url: users.avatar_url,
    suspended_at: users.suspended_at,
    kind: users.kind,
  },
  predictions_count: modelCounts.predictions_count,
  categories: summaries,
};

/** The number of the latest version, for a query of `models`. */
const latestNumber = sql`(
  SELECT v.number FROM ${versions} v WHERE v.model_id = ${models.id} ORDER BY v.number DESC LIMIT 1)`;

/** The number of the version that runs when none is named, for a query of `models`. */
export const defaultNumber = sql`coalesce(${models.default_version}, ${latestNumber})`;

/** How many versions back callers by compatibility are answered while newer ones await their first start. */
const ANSWERING_AMONG = 20;

/** The number of the default version. Without one that an owner chose it is the last number given. */
const newest = sql`coalesce(${models.default_version}, ${models.last_version})`;

/**
 * The default version, or the newest before it whose compatibilities are known, for a query of `models`. A
 * version that awaits its first start does not replace it.
 */
export const answeringNumber = sql<number | null>`(
  SELECT v.number FROM ${versions} v
  WHERE v.model_id = ${models.id} AND v.number <= ${newest}
    AND v.number > ${newest} - ${sql.raw(String(ANSWERING_AMONG))}
    AND coalesce(v.awaits, '') NOT LIKE '%"compatibilities"%'
  ORDER BY v.number DESC LIMIT 1)`;

/** The version that an owner has made the default. */
const pinned = alias(versions, "pinned");

const hardwareOf = (version: typeof versions | typeof pinned) => sql`coalesce(
  ${version.configuration} ->> 'hardware_identifier', ${models.hardware_identifier}, ${DEFAULT_HARDWARE})`;

/** The hardware that the default version would run on. */
const runsOn = alias(hardware, "runs_on");
const runsOnName = sql`iif(${pinned.number} IS NULL, ${hardwareOf(versions)}, ${hardwareOf(pinned)})`;

/** Selects models in their full form. */
const detailed = (db: Database, viewerId?: string) =>
  db
    .select({
      ...modelItem,
      level: levelOf(viewerId).as("level"),
      overview: models.overview,
      cover_key: models.cover_key,
      hardware,
      runsOn,
      pool_made_at: pools.made_at,
      latest_version: versions,
      /** The version that an owner has made the default. Null: the latest is. */
      pinned,
    })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .innerJoin(modelCounts, eq(modelCounts.model_id, models.id))
    .leftJoin(hardware, eq(hardware.identifier, models.hardware_identifier))
    .leftJoin(versions, and(eq(versions.model_id, models.id), eq(versions.number, latestNumber)))
    .leftJoin(
      pinned,
      and(eq(pinned.model_id, models.id), eq(pinned.number, models.default_version)),
    )
    .leftJoin(runsOn, eq(runsOn.identifier, runsOnName))
    .leftJoin(pools, eq(pools.name, runsOn.pool));

export const findModel = (db: Database, id: string) => detailed(db).where(eq(models.id, id)).get();

/** @param ids 100 at most */
export const findModels = (db: Database, ids: string[]) =>
  detailed(db).where(inArray(models.id, ids)).all();

export const findModelByName = (
  db: Database,
  owner: string,
  name: string,
  viewerId: string | undefined,
) =>
  detailed(db, viewerId)
    .where(and(eq(users.username, owner), eq(models.name, name), isSeenBy(viewerId)))
    .get();

export const findModelId = (db: Database, owner: string, name: string, viewerId: string) =>
  db
    .select({ id: models.id })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(and(eq(users.username, owner), eq(models.name, name), isSeenBy(viewerId)))
    .get();

/** Finds the current owners and names of models that the viewer sees. @param ids 100 at most */
export const findModelPlaces = (db: Database, ids: string[], viewerId: string | undefined) =>
  db
    .select({
      id: models.id,
      owner: users.username,
      name: models.name,
      owner_id: models.owner_id,
      visibility: models.visibility,
      level: levelOf(viewerId).as("level"),
    })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(inArray(models.id, ids))
    .all();

/** Finds the facts that galleries show of models. @param ids 100 at most */
export const findGalleryFacts = (db: Database, ids: string[]) =>
  db
    .select({
      id: models.id,
      makes: models.makes,
      cover_key: models.cover_key,
      cover_image_url: models.cover_image_url,
      published_at: sql<number | null>`(SELECT v.created_at FROM ${versions} v
        WHERE v.model_id = models.id ORDER BY v.number DESC LIMIT 1)`,
    })
    .from(models)
    .where(inArray(models.id, ids))
    .all();

export type DetailedModelRow = NonNullable<Awaited<ReturnType<typeof findModel>>>;

/** Returns the version that runs when none is named. Null: the model has no version. */
export const defaultVersion = ({
  pinned,
  latest_version,
}: Pick<DetailedModelRow, "pinned" | "latest_version">) => pinned ?? latest_version;

/**
 * Lists an owner's models, newest first.
 * @param ids limits the list to these; null: all
 */
export function listOwnModels(db: Database, ownerId: string, ids: string[] | null, keyset: Keyset) {
  const { where, order, limit } = range([models.id], "desc", keyset);
  return db
    .select(modelItem)
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .innerJoin(modelCounts, eq(modelCounts.model_id, models.id))
    .where(and(eq(models.owner_id, ownerId), ids ? inArray(models.id, ids) : undefined, where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Lists an owner's models in their full form, newest first. */
export function listDetailedModels(db: Database, ownerId: string, keyset: Keyset) {
  const { where, order, limit } = range([models.id], "desc", keyset);
  return detailed(db)
    .where(and(eq(models.owner_id, ownerId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export interface Listing {
  /** The owner. Undefined: any owner. */
  ownerId: string | undefined;
  /** The category. Undefined: any category. */
  categorySlug: string | undefined;
  sort: ModelSort;
  direction: Direction;
}

/** Lists models that have become private since then. */
export const listHidden = (db: Database, since: number, limit: number) =>
  db
    .select({ id: models.id })
    .from(models)
    // The condition is as the index has it: with a parameter in its place the index would not be used.
    .where(and(sql`visibility = 'private'`, gte(models.hidden_at, since)))
    .limit(limit)
    .all();

/**
 * Leaves hidden models out of a list that is read from a copy of the database, which may not know of them
 * yet.
 */
export const isNoneOf = (id: SQLWrapper, hidden: readonly string[]) =>
  hidden.length === 0
    ? undefined
    : sql`${id} NOT IN (SELECT value FROM json_each(${JSON.stringify(hidden)}))`;

/**
 * Lists models that are not private; several lists in one round trip.
 * @param hidden models that are left out
 */
export const listModels = (
  db: Database,
  lists: Listing[],
  keyset: Keyset,
  hidden: readonly string[],
) =>
  runBatch(
    db,
    lists.map((listing) => listed(db, listing, keyset, hidden)),
  );

function listed(
  db: Database,
  { ownerId, categorySlug, sort, direction }: Listing,
  keyset: Keyset,
  hidden: readonly string[],
) {
  const byCount = sort === "predictions_count";
  const columns = byCount ? [listings.predictions_count, listings.model_id] : [listings.model_id];
  const { where, order, limit } = range(columns, direction, keyset);
  return db
    .select({
      ...modelItem,
      listed_count: sql<number>`${listings.predictions_count}`.as("listed_count"),
    })
    .from(listings)
    .innerJoin(models, eq(models.id, listings.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .innerJoin(modelCounts, eq(modelCounts.model_id, models.id))
    .where(
      and(
        eq(listings.owner_id, ownerId ?? ""),
        eq(listings.category_slug, categorySlug ?? ""),
        byCount ? sql`${listings.predictions_count} > 0` : undefined,
        isNoneOf(listings.model_id, hidden),
        where,
      ),
    )
    .orderBy(...order)
    .limit(limit);
}

export type ListedModelRow = Awaited<ReturnType<typeof listModels>>[number][number];
export type ModelItemRow = Omit<ListedModelRow, "listed_count">;

const setCategories = (db: Database, modelId: string, slugs: string[]) => [
  db
    .delete(modelCategories)
    .where(
      and(eq(modelCategories.model_id, modelId), notInArray(modelCategories.category_slug, slugs)),
    ),
  ...slugs.map((slug) =>
    db
      .insert(modelCategories)
      .values({ model_id: modelId, category_slug: slug })
      .onConflictDoNothing(),
  ),
];

/** Inserts a model. Fails (`isLimitReached`) if the owner has `max` models, and like `writeWithinQuota`. */
export async function insertModel(
  db: Database,
  row: Omit<
    ModelRow,
    "seq" | "last_version" | "default_version" | "hidden_at" | "makes" | "cover_key"
  >,
  slugs: string[],
  max: number,
  allowance: StorageQuota,
  entry: EntryRow,
): Promise<void> {
  const count = sql`(SELECT count(*) FROM models WHERE owner_id = ${row.owner_id})`;
  const id = sql`iif(${count} < ${max}, ${row.id}, NULL)`;
  const inserting = db.insert(models).values({ ...row, id });
  const setting = setCategories(db, row.id, slugs);
  await writeWithinQuota(db, allowance, inserting, insertIfChanged(db, entry), ...setting);
}

/**
 * Updates a model. Fails (`isVersionGone`) if the version that shall be the default has been deleted
 * meanwhile, and like `writeWithinQuota`.
 * @param slugs undefined: keeps the categories
 */
export async function updateModel(
  db: Database,
  id: string,
  changes: Partial<ModelRow>,
  slugs: string[] | undefined,
  allowance: StorageQuota,
  entry: EntryRow,
): Promise<void> {
  const { default_version: number } = changes;
  // The column refuses NULL, and with it the whole batch.
  const whileThere = sql`iif(EXISTS (SELECT 1 FROM versions
    WHERE model_id = ${id} AND number = ${number}), ${models.created_at}, NULL)`;
  const updating = db
    .update(models)
    .set({ ...changes, ...(typeof number === "number" && { created_at: whileThere }) })
    .where(eq(models.id, id));
  const setting = slugs ? setCategories(db, id, slugs) : [];
  await writeWithinQuota(db, allowance, updating, insertIfChanged(db, entry), ...setting);
}

export const isVersionGone = (error: unknown): boolean =>
  failedOn(error, "NOT NULL", "models.created_at");

/**
 * Deletes a model. Predictions that were accepted run to their end.
 * @param keepUntil how long they may need the versions' files
 * @param entry absent: the model goes with its account
 */
export async function deleteModel(
  db: Database,
  id: string,
  keepUntil: number,
  entry?: EntryRow,
): Promise<void> {
  await db.batch([
    keepUploadsOf(db, { modelId: id }, keepUntil),
    db.delete(models).where(eq(models.id, id)),
    ...(entry ? [insertIfChanged(db, entry)] : []),
  ]);
}
