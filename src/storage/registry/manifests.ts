/** Manifests and indexes of repositories. */
import { and, asc, desc, eq, gt, max, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { EntryRow } from "../../domain/audit/entry.ts";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { levelOf } from "../accounts/visible-models.ts";
import { changeRecorded, insertIfChanged } from "../audit/entries.ts";
import type { Database } from "../database.ts";
import {
  models,
  registryBlobs,
  registryHolds,
  registryManifests,
  registryReferences,
  registryTags,
  users,
  versions,
} from "../schema/index.ts";
import { type BlobPlace, droppingUnused, storing, touch } from "./blobs.ts";

export type ManifestRow = typeof registryManifests.$inferSelect;

export interface FoundManifest extends BlobPlace {
  media_type: string;
  used_at: number;
}

/** @param reference a digest or a tag */
export const findManifest = (
  db: Database,
  modelId: string,
  reference: string,
): Promise<FoundManifest | undefined> =>
  db
    .select({
      digest: registryManifests.digest,
      media_type: registryManifests.media_type,
      size: registryManifests.size,
      used_at: registryManifests.used_at,
      key: registryBlobs.key,
    })
    .from(registryManifests)
    .innerJoin(registryBlobs, eq(registryBlobs.digest, registryManifests.digest))
    .where(
      and(
        eq(registryManifests.model_id, modelId),
        eq(
          registryManifests.digest,
          reference.includes(":") ? reference : digestOfTag(modelId, reference),
        ),
      ),
    )
    .get();

const digestOfTag = (modelId: string, tag: string) => sql`(SELECT ${registryTags.digest}
  FROM ${registryTags} WHERE ${registryTags.model_id} = ${modelId} AND ${registryTags.tag} = ${tag})`;

/** Stores a manifest whose parts the repository has. @param names digests */
export async function insertManifest(
  db: Database,
  row: ManifestRow,
  { blob, names, tags }: { blob: BlobPlace; names: string[]; tags: string[] },
  allowance: StorageQuota,
): Promise<void> {
  const { model_id, digest, user_id, used_at } = row;
  await writeWithinQuota(
    db,
    allowance,
    storing(db, blob, used_at),
    droppingUnused(db, blob),
    db
      .insert(registryManifests)
      .values(row)
      .onConflictDoUpdate({
        target: [registryManifests.model_id, registryManifests.digest],
        set: { used_at, pushed_at: row.pushed_at },
      }),
    db
      .insert(registryReferences)
      .select(
        sql`SELECT ${model_id}, ${digest}, value FROM json_each(${JSON.stringify(names)}) WHERE true`,
      )
      .onConflictDoNothing(),
    ...tags.map((tag) => tagging(db, { model_id, tag, digest, user_id, now: used_at })),
  );
}

/** Notes that a push relies on these manifests. @returns which of them the repository has */
export const touchManifests = (db: Database, modelId: string, digests: string[], now: number) =>
  touch(db, registryManifests, { modelId, digests, now });

/**
 * Lists the manifests attached to a digest, by their digests.
 * @param last the digest after which they begin
 */
export const listReferrers = (
  db: Database,
  modelId: string,
  subject: string,
  { last, limit }: { last: string; limit: number },
) =>
  db
    .select({
      digest: registryManifests.digest,
      media_type: registryManifests.media_type,
      size: registryManifests.size,
      artifact_type: registryManifests.artifact_type,
      annotations: registryManifests.annotations,
    })
    .from(registryManifests)
    .where(
      and(
        eq(registryManifests.model_id, modelId),
        eq(registryManifests.subject, subject),
        gt(registryManifests.digest, last),
      ),
    )
    .orderBy(asc(registryManifests.digest))
    .limit(limit)
    .all();

/**
 * The digests by which a manifest is needed: its own, those of the indexes that name it, and of the indexes
 * that name these. None for a blob, such as a layer that thousands of manifests name. The hints keep SQLite
 * from reading all references of the model in each step.
 * @param most how many to find: a digest can have 100,000, which take D1 400 ms
 */
const namers = (modelId: string, digest: string, most: number) => sql`(
  WITH RECURSIVE naming (digest) AS (
    SELECT one.digest FROM ${registryManifests} AS one
      WHERE one.model_id = ${modelId} AND one.digest = ${digest} UNION
    SELECT named.manifest FROM naming
      CROSS JOIN ${registryReferences} AS named ON named.rowid IN (
        SELECT one.rowid FROM ${registryReferences} AS one INDEXED BY registry_references_digest
          WHERE one.model_id = ${modelId} AND one.digest = naming.digest LIMIT ${most})
    LIMIT ${most})
  SELECT digest FROM naming)`;

/**
 * Whether a live version needs the manifest, or predictions of a deleted one, as far as its namers were
 * found.
 */
const isNeeded = (modelId: string, digest: string) => sql`EXISTS (
  SELECT 1 FROM ${namers(modelId, digest, MAX_NAMERS + 2)} AS namer WHERE namer.digest IN (
    SELECT container_image_digest FROM ${versions} AS one WHERE one.model_id = ${modelId}
    UNION ALL SELECT held.digest FROM ${registryHolds} AS held WHERE held.model_id = ${modelId}))`;

/**
 * The most indexes that may lead to a manifest that is deleted: if there are more, these are deleted first.
 * Each may be named by as many.
 */
export const MAX_NAMERS = 200;

/** The most tags of a manifest that is deleted: they are deleted with it. */
export const MAX_TAGS = 1_000;

const isCrowded = (modelId: string, digest: string) => sql<number>`(
  (SELECT count(*) FROM ${namers(modelId, digest, MAX_NAMERS + 2)}) > ${MAX_NAMERS + 1} OR
  EXISTS (SELECT 1 FROM ${registryTags} AS tagged
    WHERE tagged.model_id = ${modelId} AND tagged.digest = ${digest} LIMIT 1 OFFSET ${MAX_TAGS}))`;

/**
 * The versions that need a manifest, directly or by an index that names it; none, if only by indexes of
 * indexes.
 */
export interface Need {
  /** The numbers of live versions, the newest first, at most as many as were asked for. */
  versions: number[];
  /** When the last prediction of a deleted version has ended; 0: none needs it. */
  until: number;
}

/** Deletes a manifest with its tags. @param most how many versions to name that need it */
export async function deleteManifest(
  db: Database,
  modelId: string,
  digest: string,
  most: number,
  entry: EntryRow,
): Promise<"removed" | "missing" | "crowded" | Need> {
  const isOne = and(eq(registryManifests.model_id, modelId), eq(registryManifests.digest, digest));
  // The query starts from the needed digests, of which a model has a thousand: 100,000 indexes that name the
  // manifest would take D1 400 ms.
  const needs = (model: SQLiteColumn, needed: SQLiteColumn) =>
    and(
      eq(model, modelId),
      sql`(${needed} = ${digest} OR EXISTS (SELECT 1 FROM ${registryReferences} AS named
        WHERE named.model_id = ${modelId} AND named.manifest = ${needed} AND named.digest = ${digest}))`,
    );
  const [removed, , left, needing, held] = await db.batch([
    db
      .delete(registryManifests)
      .where(
        and(isOne, sql`NOT ${isNeeded(modelId, digest)} AND NOT ${isCrowded(modelId, digest)}`),
      ),
    insertIfChanged(db, entry),
    db.select({ digest: registryManifests.digest }).from(registryManifests).where(isOne),
    db
      .select({ number: versions.number })
      .from(versions)
      .where(needs(versions.model_id, versions.container_image_digest))
      .orderBy(desc(versions.number))
      .limit(most),
    db
      .select({ until: max(registryHolds.until) })
      .from(registryHolds)
      .where(needs(registryHolds.model_id, registryHolds.digest)),
  ]);
  if (removed.meta.changes > 0) return "removed";
  if (left.length === 0) return "missing";
  const need = { versions: needing.map(({ number }) => number), until: held[0]?.until ?? 0 };
  if (need.versions.length > 0 || need.until > 0) return need;
  const [manifest] = await db
    .select({ isCrowded: isCrowded(modelId, digest) })
    .from(registryManifests)
    .where(isOne);
  return manifest?.isCrowded ? "crowded" : need;
}

/** @param viewerId the account whose level of a share comes along */
export const findRepository = (
  db: Database,
  owner: string,
  name: string,
  viewerId: string | undefined,
) =>
  db
    .select({
      id: models.id,
      owner_id: models.owner_id,
      visibility: models.visibility,
      level: levelOf(viewerId).as("level"),
    })
    .from(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(and(eq(users.username, owner), eq(models.name, name)))
    .get();

interface NewTag {
  model_id: string;
  tag: string;
  digest: string;
  user_id: string;
  now: number;
}

/** Moves the tag, if it exists. */
const tagging = (db: Database, { now, ...row }: NewTag) =>
  db
    .insert(registryTags)
    .values({ ...row, updated_at: now })
    .onConflictDoUpdate({
      target: [registryTags.model_id, registryTags.tag],
      set: { digest: row.digest, updated_at: now },
    });

/** Lists tags, sorted bytewise, as OCI wants it. @param last the tag after which they begin */
export const listTags = (db: Database, modelId: string, last: string, limit: number) =>
  db
    .select({
      tag: registryTags.tag,
      digest: registryTags.digest,
      updated_at: registryTags.updated_at,
    })
    .from(registryTags)
    .where(and(eq(registryTags.model_id, modelId), gt(registryTags.tag, last)))
    .orderBy(asc(registryTags.tag))
    .limit(limit)
    .all();

/** @returns whether the tag existed */
export async function deleteTag(
  db: Database,
  modelId: string,
  tag: string,
  entry: EntryRow,
): Promise<boolean> {
  const deleting = db
    .delete(registryTags)
    .where(and(eq(registryTags.model_id, modelId), eq(registryTags.tag, tag)));
  const { meta } = await changeRecorded(db, deleting, entry);
  return meta.changes > 0;
}
