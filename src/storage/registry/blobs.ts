/** Blobs, and the repositories that have them. */
import { and, eq, lt, sql } from "drizzle-orm";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import type { Database } from "../database.ts";
import {
  registryBlobs,
  registryGarbage,
  registryLinks,
  type registryManifests,
  registryReferences,
} from "../schema/index.ts";
import { endingUpload, type RegistryUploadRow } from "./uploads.ts";

export interface BlobPlace {
  digest: string;
  key: string;
  size: number;
}

export interface LinkedBlob extends BlobPlace {
  used_at: number;
}

export const findLinkedBlob = (
  db: Database,
  modelId: string,
  digest: string,
): Promise<LinkedBlob | undefined> =>
  db
    .select({
      digest: registryBlobs.digest,
      key: registryBlobs.key,
      size: registryBlobs.size,
      used_at: registryLinks.used_at,
    })
    .from(registryLinks)
    .innerJoin(registryBlobs, eq(registryBlobs.digest, registryLinks.digest))
    .where(isLink(modelId, digest))
    .get();

/** Finds a repository of the account that has the blob. @param models ids: only these; null: any */
export const findOwnLink = (
  db: Database,
  { user_id, models }: { user_id: string; models: string[] | null },
  digest: string,
) =>
  db
    .select({ model_id: registryLinks.model_id })
    .from(registryLinks)
    .where(
      and(
        eq(registryLinks.user_id, user_id),
        eq(registryLinks.digest, digest),
        models === null
          ? undefined
          : sql`${registryLinks.model_id} IN (SELECT value FROM json_each(${JSON.stringify(models)}))`,
      ),
    )
    .limit(1)
    .get();

export interface NewLink {
  model_id: string;
  user_id: string;
  digest: string;
  now: number;
}

/** Links a blob that is stored; does nothing if it is not stored any more. */
const linking = (db: Database, { model_id, user_id, digest, now }: NewLink) =>
  db
    .insert(registryLinks)
    .select(sql`SELECT ${model_id}, digest, ${user_id}, size, ${now} FROM registry_blobs
      WHERE digest = ${digest}`)
    .onConflictDoUpdate({
      target: [registryLinks.model_id, registryLinks.digest],
      set: { used_at: sql`excluded.used_at` },
    });

/** @returns whether the blob is stored */
export async function linkBlob(
  db: Database,
  link: NewLink,
  allowance: StorageQuota,
): Promise<boolean> {
  const { meta } = await writeWithinQuota(db, allowance, linking(db, link));
  return meta.changes > 0;
}

/**
 * Stores the object of an upload as a blob of its repository. If its bytes are stored already, the new object
 * is garbage.
 * @param upload is ended in the same batch
 */
export async function takeBlob(
  db: Database,
  blob: BlobPlace,
  link: NewLink,
  allowance: StorageQuota,
  upload: RegistryUploadRow,
): Promise<void> {
  const { key } = blob;
  await writeWithinQuota(
    db,
    allowance,
    storing(db, blob, link.now),
    linking(db, link),
    // The object is not aborted: its multipart upload was completed, if there was one.
    ...endingUpload(db, { ...upload, multipart_id: null }),
    droppingUnused(db, blob),
    db.delete(registryGarbage).where(and(eq(registryGarbage.key, key), isStored(blob))),
  );
}

type Place = Pick<BlobPlace, "digest" | "key">;

/** Whether the object is that of a stored blob. The query goes by the digest, since keys have no index. */
const isStored = ({ digest, key }: Place) =>
  sql`EXISTS (SELECT 1 FROM registry_blobs WHERE digest = ${digest} AND key = ${key})`;

/** Makes garbage of an object that became no blob, since its bytes were stored already. */
export const droppingUnused = (db: Database, place: Place) =>
  db
    .insert(registryGarbage)
    .select(sql`SELECT ${place.key}, NULL WHERE NOT ${isStored(place)}`)
    .onConflictDoNothing();

export const droppingObject = (db: Database, key: string) =>
  db.insert(registryGarbage).values({ key }).onConflictDoNothing();

/** Stores a blob unless it exists. */
export const storing = (db: Database, { digest, key, size }: BlobPlace, now: number) =>
  db.insert(registryBlobs).values({ digest, key, size, created_at: now }).onConflictDoNothing();

export const findBlob = (db: Database, digest: string) =>
  db.select().from(registryBlobs).where(eq(registryBlobs.digest, digest)).get();

/** Replaces the lost object of a blob whose bytes were sent again. */
export const replaceObject = (db: Database, digest: string, from: string, to: string) =>
  db
    .update(registryBlobs)
    .set({ key: to })
    .where(and(eq(registryBlobs.digest, digest), eq(registryBlobs.key, from)));

/**
 * The precision of the last use by a push: otherwise a manifest of 10,000 layers would write 20,000 rows each
 * time.
 */
const USE_MS = 3_600_000;

/**
 * Notes that a push relies on these blobs: they stay as long as a push may take.
 * @returns which of them the repository has
 */
export const touchLinks = (db: Database, modelId: string, digests: string[], now: number) =>
  touch(db, registryLinks, { modelId, digests, now });

/** A blob or manifest that a repository has. */
export interface Present {
  digest: string;
  size: number;
}

export async function touch(
  db: Database,
  table: typeof registryLinks | typeof registryManifests,
  { modelId, digests, now }: { modelId: string; digests: string[]; now: number },
): Promise<Present[]> {
  const isNamed = and(
    eq(table.model_id, modelId),
    sql`${table.digest} IN (SELECT value FROM json_each(${JSON.stringify(digests)}))`,
  );
  const [, rows] = await db.batch([
    db
      .update(table)
      .set({ used_at: now })
      .where(and(isNamed, lt(table.used_at, now - USE_MS))),
    db.select({ digest: table.digest, size: table.size }).from(table).where(isNamed),
  ]);
  return rows;
}

/** @returns "named" while a manifest needs it */
export async function unlinkBlob(
  db: Database,
  modelId: string,
  digest: string,
): Promise<"removed" | "named" | "missing"> {
  const isNamed = sql`EXISTS (SELECT 1 FROM ${registryReferences}
    WHERE ${registryReferences.model_id} = ${modelId} AND ${registryReferences.digest} = ${digest})`;
  const [removed, left] = await db.batch([
    db.delete(registryLinks).where(and(isLink(modelId, digest), sql`NOT ${isNamed}`)),
    db.select({ digest: registryLinks.digest }).from(registryLinks).where(isLink(modelId, digest)),
  ]);
  if (removed.meta.changes > 0) return "removed";
  return left.length > 0 ? "named" : "missing";
}

const isLink = (modelId: string, digest: string) =>
  and(eq(registryLinks.model_id, modelId), eq(registryLinks.digest, digest));

interface ImageBytes {
  /** The bytes of blobs and manifests, each counted once, by triggers. */
  stored: number;
  /** The bytes of uploads under way. */
  arriving: number;
  /** The bytes in the database of everything that the account has (accounts/account-bytes.ts). */
  database: number;
}

export async function findImageBytes(
  db: Database,
  userId: string,
  partBytes: number,
): Promise<ImageBytes> {
  const [row] = await db.all<ImageBytes>(sql`SELECT
    coalesce((SELECT bytes FROM registry_bytes WHERE user_id = ${userId}), 0) AS stored,
    coalesce((SELECT sum(parts * ${partBytes} + rest) FROM registry_uploads
      WHERE user_id = ${userId}), 0) AS arriving,
    coalesce((SELECT bytes FROM account_bytes WHERE user_id = ${userId}), 0) AS database`);
  return row ?? { stored: 0, arriving: 0, database: 0 };
}
