import {
  and,
  desc,
  eq,
  gte,
  inArray,
  isNotNull,
  lt,
  lte,
  not,
  type SQLWrapper,
  sql,
} from "drizzle-orm";
import type { EntryRow } from "../../domain/audit/entry.ts";
import type { OutputModality } from "../../domain/models/output-modality.ts";
import { versionIdOf } from "../../domain/replicate/versions.ts";
import type { WeightFile } from "../../protocol/weights.ts";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { isSeenBy } from "../accounts/visible-models.ts";
import { insertIfChanged } from "../audit/entries.ts";
import { type Database, failedOn } from "../database.ts";
import { keepUploadsOf, type MovedUploads, moveUploads } from "../files/uploads.ts";
import { type Keyset, range } from "../keyset.ts";
import { models, users, versions } from "../schema/index.ts";

export type VersionRow = typeof versions.$inferSelect;

export interface ConfigurationSources {
  /** The configuration of the request. Undefined: inherited from the latest version. */
  given: VersionRow["configuration"] | undefined;
  /** The files of the weights that are given. Undefined: inherited from the latest version. */
  files: WeightFile[] | undefined;
  /**
   * The configuration that an image in this registry declares, for fields that are not given. Undefined for
   * an image elsewhere.
   */
  read: VersionRow["configuration"] | undefined;
  /** Files of a collaborator, which become the owner's. */
  moved: MovedUploads | undefined;
}

/**
 * Inserts a version. The statement itself finds the number and the inherited configuration, so that two at
 * once cannot get the same number. Fails (`isLimitReached`) if the model has `max` versions, if one of its
 * files has been deleted or published elsewhere meanwhile (`isFileGone`), and like `writeWithinQuota` and `moveUploads`.
 * @param entry its first target is the version, whose ID and number are added
 */
export async function insertVersion(
  db: Database,
  version: Omit<
    VersionRow,
    "number" | "configuration" | "own_configuration" | "weight_files" | "hash"
  > & {
    makes: OutputModality | undefined;
    /** Whether it runs when no version is named. False: the version that did so stays the default. */
    set_default: boolean;
  },
  { given, files, read, moved }: ConfigurationSources,
  max: number,
  allowance: StorageQuota,
  entry: EntryRow,
): Promise<VersionRow> {
  const { makes, set_default, ...row } = version;
  const own = given
    ? sql`${JSON.stringify(given)}`
    : sql`coalesce((SELECT coalesce(own_configuration, configuration) FROM versions
        WHERE model_id = ${row.model_id} ORDER BY number DESC LIMIT 1), '{}')`;
  // An image in this registry replaces the repository that an earlier version named.
  const here = sql`json_remove(${own}, '$.image')`;
  // A trigger has set the model's `last_version` to the number that the insert gave.
  const before = sql`(SELECT max(number) FROM versions
    WHERE model_id = ${row.model_id} AND number < last_version)`;
  const next = sql`coalesce((SELECT last_version FROM models WHERE id = ${row.model_id}), 0) + 1`;
  const { first, hashes } = await nextHashes(db, row.model_id);
  const inserting = db
    .insert(versions)
    .values({
      ...row,
      number: sql`iif((SELECT count(*) FROM versions WHERE model_id = ${row.model_id}) >= ${max}, NULL,
        ${next})`,
      hash: sql`${JSON.stringify(hashes)} ->> CAST(${next} - ${first} AS INTEGER)`,
      configuration: read ? sql`json_patch(${JSON.stringify(read)}, ${here})` : own,
      own_configuration: read && Object.keys(read).length > 0 ? here : null,
      weight_files: files
        ? ifAllThere(files, row.model_id, moved?.from)
        : sql`coalesce((SELECT weight_files FROM versions
            WHERE model_id = ${row.model_id} ORDER BY number DESC LIMIT 1), '[]')`,
    })
    .returning();
  const [inserted] = await writeWithinQuota(
    db,
    allowance,
    inserting,
    insertIfChanged(db, { ...entry, targets: numbered(entry.targets, row.model_id) }),
    db
      .update(models)
      .set({ default_version: set_default ? null : sql`coalesce(default_version, ${before})` })
      .where(eq(models.id, row.model_id)),
    setOutputModality(db, row.model_id, makes, sql`last_version`),
    ...(moved ? moveUploads(db, moved) : []),
  );
  if (!inserted) throw new Error("the insert of a version returned no row");
  return inserted;
}

/** The targets of an entry with the ID and the number of a model's latest version. */
const numbered = (targets: string, modelId: string) => sql`(
  SELECT json_set(${targets}, '$[0].id', hash, '$[0].name', (${targets} ->> '$[0].name') || ':' || number)
  FROM versions WHERE model_id = ${modelId} ORDER BY number DESC LIMIT 1)`;

/** The most versions of one model that are inserted at once. Further ones would have no hash. */
const AT_ONCE = 32;

/** Returns the hashes of the numbers that the next versions get: D1 computes no SHA-256. */
async function nextHashes(db: Database, modelId: string) {
  const found = db.select({ last: models.last_version }).from(models).where(eq(models.id, modelId));
  const first = ((await found.get())?.last ?? 0) + 1;
  const hashes = Array.from({ length: AT_ONCE }, (_, n) => versionIdOf(modelId, first + n));
  return { first, hashes };
}

/**
 * NULL, which the column refuses, if one of the files has been deleted, or has become another account's: two
 * models may have been about to take it.
 * @param from the collaborator whose files become the owner's, unless a version names them
 */
function ifAllThere(files: WeightFile[], modelId: string, from: string | undefined) {
  if (files.length === 0) return [];
  const ids = JSON.stringify([...new Set(files.map(({ id }) => id))]);
  return sql`iif((SELECT count(*) FROM uploads
      WHERE id IN (SELECT value FROM json_each(${ids})) AND removed_at IS NULL
        AND (+user_id = (SELECT owner_id FROM models WHERE id = ${modelId})
          OR (+user_id = ${from ?? null}
            AND NOT EXISTS (SELECT 1 FROM version_files WHERE upload_id = uploads.id))))
    = json_array_length(${ids}), ${JSON.stringify(files)}, NULL)`;
}

export const isFileGone = (error: unknown): boolean =>
  failedOn(error, "NOT NULL", "versions.weight_files");

export const findVersion = (db: Database, modelId: string, number: number) =>
  db.select().from(versions).where(isOne(modelId, number)).get();

/** Finds a version by its ID in Replicate's API, if the viewer sees its model. */
export const findVersionByHash = (db: Database, hash: string, viewerId: string | undefined) =>
  db
    .select({ owner: users.username, name: models.name, number: versions.number })
    .from(versions)
    .innerJoin(models, eq(models.id, versions.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(and(eq(versions.hash, hash), isSeenBy(viewerId)))
    .get();

/** Lists versions, newest first. */
export function listVersions(db: Database, modelId: string, keyset: Keyset) {
  const { where, order, limit } = range([versions.number], "desc", keyset);
  return db
    .select({
      number: versions.number,
      release_notes: versions.release_notes,
      created_at: versions.created_at,
      container_image_digest: versions.container_image_digest,
      awaits: versions.awaits,
      size: versions.size,
    })
    .from(versions)
    .where(and(eq(versions.model_id, modelId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Lists versions in full, newest first. */
export function listWholeVersions(db: Database, modelId: string, keyset: Keyset) {
  const { where, order, limit } = range([versions.number], "desc", keyset);
  return db
    .select()
    .from(versions)
    .where(and(eq(versions.model_id, modelId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

export type VersionSummaryRow = Awaited<ReturnType<typeof listVersions>>[number];

const compared = {
  number: versions.number,
  awaits: versions.awaits,
  schemas: versions.schemas,
};

export const versionsAmong = async (
  db: Database,
  modelId: string,
  numbers: number[],
): Promise<number[]> => {
  if (numbers.length === 0) return [];
  const rows = await db
    .select({ number: versions.number })
    .from(versions)
    .where(and(eq(versions.model_id, modelId), inArray(versions.number, numbers)))
    .all();
  return rows.map(({ number }) => number);
};

/** Finds the version before a number, which need not be the number before. */
export const findVersionBefore = (db: Database, modelId: string, number: number) =>
  db
    .select(compared)
    .from(versions)
    .where(and(eq(versions.model_id, modelId), lt(versions.number, number)))
    .orderBy(desc(versions.number))
    .limit(1)
    .get();

export type ComparedVersion = NonNullable<Awaited<ReturnType<typeof findVersionBefore>>>;

const schemasUpTo = (chars: number) =>
  sql<ComparedVersion["schemas"] | null>`
    iif(length(${versions.schemas}) <= ${chars}, ${versions.schemas}, NULL)`.mapWith(
    (text: string) => JSON.parse(text),
  );

/**
 * Lists versions from a number down, newest first.
 * @param chars larger schemas are left out
 */
export const listCompared = (
  db: Database,
  modelId: string,
  number: number,
  { limit, chars }: { limit: number; chars: number },
) =>
  db
    .select({
      ...compared,
      schemas: schemasUpTo(chars),
    })
    .from(versions)
    .where(and(eq(versions.model_id, modelId), lte(versions.number, number)))
    .orderBy(desc(versions.number))
    .limit(limit)
    .all();

export type ListedSchemas = Awaited<ReturnType<typeof listCompared>>[number];

/** Larger schemas are left out of lists of runs. */
const MAX_SCHEMA_CHARS = 64 * 1024;

/** Lists the schemas of the versions of runs. */
export const listInputSchemas = (
  db: Database,
  runs: { model_id: string; version_number: number }[],
) => {
  const pairs = JSON.stringify(
    runs.map(({ model_id, version_number }) => [model_id, version_number]),
  );
  return db
    .select({
      model_id: versions.model_id,
      number: versions.number,
      schemas: schemasUpTo(MAX_SCHEMA_CHARS),
    })
    .from(versions)
    .where(
      sql`(${versions.model_id}, ${versions.number}) IN (
        SELECT value ->> 0, value ->> 1 FROM json_each(${pairs}))`,
    )
    .all();
};

/**
 * Lists all versions of an owner's models, in full: by the model's id and their number. With a join SQLite
 * would sort a model's versions for each page.
 */
export function listVersionsOfOwner(db: Database, ownerId: string, keyset: Keyset) {
  const { where, order, limit } = range([versions.model_id, versions.number], "asc", keyset);
  // Without this condition, the versions of all earlier models would be read again.
  const fromModel = keyset.from && gte(models.id, String(keyset.from.key[0]));
  const own = db
    .select({ id: models.id })
    .from(models)
    .where(and(eq(models.owner_id, ownerId), fromModel));
  return db
    .select()
    .from(versions)
    .where(and(inArray(versions.model_id, own), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/** Sets the image size that the first run has reported. A known size is kept. */
export const fillSize = (db: Database, modelId: string, number: number, size: number) =>
  db
    .update(versions)
    .set({ size })
    .where(and(eq(versions.model_id, modelId), eq(versions.number, number), eq(versions.size, 0)));

/** Finds a version that awaits its first start, and its owner. */
export const findAwaiting = (db: Database, modelId: string, number: number) =>
  db
    .select({ version: versions, name: models.name, owner_id: models.owner_id })
    .from(versions)
    .innerJoin(models, eq(models.id, versions.model_id))
    .where(and(isOne(modelId, number), isNotNull(versions.awaits)))
    .get();

/**
 * Completes a version with what its first start has reported. Only once: a version that is complete does not
 * change. Fails like `writeWithinQuota`.
 */
export async function completeVersion(
  db: Database,
  { model_id, number }: Pick<VersionRow, "model_id" | "number">,
  {
    makes,
    ...reported
  }: Pick<VersionRow, "compatibilities" | "schemas"> & { makes: OutputModality | undefined },
  allowance: StorageQuota,
): Promise<void> {
  const completing = db
    .update(versions)
    .set({ ...reported, awaits: null })
    .where(and(isOne(model_id, number), isNotNull(versions.awaits)));
  const setting = setOutputModality(db, model_id, makes, number);
  await writeWithinQuota(db, allowance, completing, setting);
}

/** Sets the kind of output of a model, if the version is its default. */
const setOutputModality = (
  db: Database,
  modelId: string,
  makes: OutputModality | undefined,
  number: SQLWrapper | number,
) =>
  db
    .update(models)
    .set({ makes: makes ?? null })
    .where(and(eq(models.id, modelId), sql`coalesce(default_version, last_version) = ${number}`));

/**
 * Deletes a version, unless it is its model's `default_version` and a later one exists: calls would move to
 * that one. Predictions that were accepted run to their end.
 * @param keepUntil how long they may need the version's files
 * @returns whether it was deleted
 */
export async function deleteVersion(
  db: Database,
  modelId: string,
  number: number,
  keepUntil: number,
  entry: EntryRow,
): Promise<boolean> {
  const isHeld = sql`(EXISTS (SELECT 1 FROM models WHERE id = ${modelId} AND default_version = ${number})
    AND EXISTS (SELECT 1 FROM versions WHERE model_id = ${modelId} AND number > ${number}))`;
  const [, deleted] = await db.batch([
    keepUploadsOf(db, { modelId, number }, keepUntil),
    db
      .delete(versions)
      .where(and(isOne(modelId, number), not(isHeld)))
      .returning({ number: versions.number }),
    insertIfChanged(db, entry),
    db
      .update(models)
      .set({ default_version: null })
      .where(
        and(
          eq(models.id, modelId),
          eq(models.default_version, number),
          sql`NOT EXISTS (SELECT 1 FROM versions WHERE model_id = ${modelId} AND number = ${number})`,
        ),
      ),
  ]);
  return deleted.length > 0;
}

const isOne = (modelId: string, number: number) =>
  and(eq(versions.model_id, modelId), eq(versions.number, number));
