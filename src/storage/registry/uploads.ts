/** Uploads of blobs under way. */
import { and, eq, lt, or, sql } from "drizzle-orm";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { type Database, runBatch } from "../database.ts";
import { registryGarbage, registryUploadParts, registryUploads } from "../schema/index.ts";

export type RegistryUploadRow = typeof registryUploads.$inferSelect;
/** The columns that say how far an upload has come. */
export type Progress = Pick<
  RegistryUploadRow,
  "multipart_id" | "parts" | "rest" | "rest_key" | "hash"
>;

/** Inserts an upload unless the account has `max` already. @returns whether it was inserted */
export async function insertRegistryUpload(
  db: Database,
  row: RegistryUploadRow,
  max: number,
  allowance: StorageQuota,
): Promise<boolean> {
  const { id, model_id, user_id, key, rest, rest_key, hash, holder, created_at, updated_at } = row;
  const inserting = db.insert(registryUploads).select(sql`SELECT ${id}, ${model_id}, ${user_id},
    ${key}, NULL, 0, ${rest}, ${rest_key}, ${hash}, ${holder}, ${created_at}, ${updated_at}
    WHERE (SELECT count(*) FROM registry_uploads WHERE user_id = ${user_id}) < ${max}`);
  const { meta } = await writeWithinQuota(db, allowance, inserting);
  return meta.changes > 0;
}

export const findRegistryUpload = (db: Database, modelId: string, id: string) =>
  db
    .select()
    .from(registryUploads)
    .where(and(eq(registryUploads.id, id), eq(registryUploads.model_id, modelId)))
    .get();

/**
 * Makes a request the writer of the upload, if its row is still the one that the request has read.
 * @returns false if another request has continued or ended it meanwhile
 */
export async function takeUpload(
  db: Database,
  { id, parts, rest_key }: RegistryUploadRow,
  holder: string,
  now: number,
): Promise<boolean> {
  const { meta } = await db
    .update(registryUploads)
    .set({ holder, updated_at: now })
    .where(
      and(
        eq(registryUploads.id, id),
        eq(registryUploads.parts, parts),
        sql`${registryUploads.rest_key} IS ${rest_key}`,
      ),
    );
  return meta.changes > 0;
}

export interface Note {
  id: string;
  holder: string;
  progress: Progress;
  /** The part that has just been stored. */
  part?: { number: number; etag: string };
  /** An object that is no longer needed. */
  replaced: string | null;
  now: number;
}

/** @returns false if another request has taken over: nothing is noted then */
export async function noteProgress(
  db: Database,
  { id, holder, progress, part, replaced, now }: Note,
): Promise<boolean> {
  const isHeld = sql`EXISTS (SELECT 1 FROM registry_uploads WHERE id = ${id} AND holder = ${holder})`;
  const noting = db
    .update(registryUploads)
    .set({ ...progress, updated_at: now })
    .where(and(eq(registryUploads.id, id), eq(registryUploads.holder, holder)));
  const partNoted =
    part &&
    db
      .insert(registryUploadParts)
      .select(sql`SELECT ${id}, ${part.number}, ${part.etag} WHERE ${isHeld}`)
      .onConflictDoUpdate({
        target: [registryUploadParts.upload_id, registryUploadParts.number],
        set: { etag: sql`excluded.etag` },
      });
  const dropped =
    replaced === null
      ? undefined
      : db.insert(registryGarbage).select(sql`SELECT ${replaced}, NULL WHERE ${isHeld}`);
  const [result] = await db.batch([
    noting,
    ...(partNoted ? [partNoted] : []),
    ...(dropped ? [dropped] : []),
  ]);
  return result.meta.changes > 0;
}

export const listUploadParts = (db: Database, id: string) =>
  db
    .select({ partNumber: registryUploadParts.number, etag: registryUploadParts.etag })
    .from(registryUploadParts)
    .where(eq(registryUploadParts.upload_id, id))
    .orderBy(registryUploadParts.number)
    .all();

/** Deletes the upload's row, and makes garbage of its objects in R2. */
export const endUpload = (db: Database, row: RegistryUploadRow) =>
  runBatch(db, endingUpload(db, row));

export function endingUpload(db: Database, { id, key, multipart_id, rest_key }: RegistryUploadRow) {
  const isThere = sql`EXISTS (SELECT 1 FROM registry_uploads WHERE id = ${id})`;
  const objects = [
    ...(multipart_id === null ? [] : [{ key, multipart_id }]),
    ...(rest_key === null ? [] : [{ key: rest_key, multipart_id: null }]),
  ];
  return [
    ...objects.map((one) =>
      db
        .insert(registryGarbage)
        .select(sql`SELECT ${one.key}, ${one.multipart_id} WHERE ${isThere}`)
        .onConflictDoNothing(),
    ),
    db.delete(registryUploads).where(eq(registryUploads.id, id)),
  ];
}

/** Notes that the request of a whole blob is still under way. */
export const renewUpload = (db: Database, id: string, now: number) =>
  db.update(registryUploads).set({ updated_at: now }).where(eq(registryUploads.id, id));

/**
 * Lists uploads that have received nothing since `before`.
 * @param before the time; `unused`: the time for those that no request has continued, whose clients may not
 * know of them
 */
export const listStaleUploads = (
  db: Database,
  { before, unused, limit }: { before: number; unused: number; limit: number },
) =>
  db
    .select()
    .from(registryUploads)
    .where(
      and(
        lt(registryUploads.updated_at, unused),
        or(eq(registryUploads.holder, ""), lt(registryUploads.updated_at, before)),
      ),
    )
    .orderBy(registryUploads.updated_at)
    .limit(limit)
    .all();
