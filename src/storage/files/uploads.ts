import { and, eq, getTableColumns, inArray, isNotNull, isNull, type SQL, sql } from "drizzle-orm";
import { type StorageQuota, writeWithinQuota } from "../accounts/account-bytes.ts";
import { type Database, failedOn, runBatch } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { fileBytes, models, uploadParts, uploads, users, versionFiles } from "../schema/index.ts";

export type UploadRow = typeof uploads.$inferSelect;
export type UploadPartRow = typeof uploadParts.$inferSelect;

export interface UploadLimits extends StorageQuota {
  max_pending: number;
  /** The bytes of all uploads of the account, including this one. */
  max_file_bytes: number;
}

/**
 * Inserts an upload unless the account would have more pending uploads or bytes than it may. Fails like
 * `writeWithinQuota`.
 * @returns whether it was inserted
 */
export async function insertUpload(
  db: Database,
  row: UploadRow,
  limits: UploadLimits,
): Promise<boolean> {
  // Without the hint SQLite scans all uploads of the account.
  const pending = sql`(SELECT count(*) FROM ${uploads} INDEXED BY uploads_pending
    WHERE ${uploads.user_id} = ${row.user_id} AND ${uploads.completed_at} IS NULL
      AND ${uploads.prediction_id} IS NULL)`;
  const { id, user_id, prediction_id, token_id, key, multipart_id } = row;
  const { size, mime_type, name, part_size, created_at, expires_at } = row;
  const details = row.details && JSON.stringify(row.details);
  const inserting = db.insert(uploads).select(sql`SELECT ${id}, ${user_id}, ${prediction_id},
    ${token_id}, ${key}, ${multipart_id}, ${size}, ${mime_type}, ${name}, ${part_size},
    ${created_at}, NULL, ${expires_at}, NULL, 0, ${details}, ${row.maker}
    WHERE ${pending} < ${limits.max_pending}
      AND coalesce((SELECT bytes FROM ${fileBytes} WHERE user_id = ${user_id}), 0) + ${size}
        <= ${limits.max_file_bytes}`);
  const result = await writeWithinQuota(db, limits, inserting);
  return result.meta.changes > 0;
}

/** Returns the bytes of all uploads of an account, declared or completed, and of those of its predictions. */
export const findFileBytes = async (db: Database, userId: string): Promise<number> => {
  const row = await db.select().from(fileBytes).where(eq(fileBytes.user_id, userId)).get();
  return row?.bytes ?? 0;
};

export const listUploadsOf = (db: Database, predictionId: string, limit: number) =>
  db.select().from(uploads).where(eq(uploads.prediction_id, predictionId)).limit(limit).all();

export const listPendingUploadsOf = (db: Database, predictionId: string, limit: number) =>
  db
    .select()
    .from(uploads)
    .where(and(eq(uploads.prediction_id, predictionId), isNull(uploads.completed_at)))
    .limit(limit)
    .all();

export const findUpload = (db: Database, id: string) =>
  db
    .select()
    .from(uploads)
    .where(and(eq(uploads.id, id), isNull(uploads.removed_at)))
    .get();

/**
 * Finds an upload that may take parts, and whether its account is suspended. Undefined for a deleted account.
 */
export const findPendingUpload = (db: Database, id: string) =>
  db
    .select({ ...getTableColumns(uploads), suspended_at: users.suspended_at })
    .from(uploads)
    .innerJoin(users, eq(users.id, uploads.user_id))
    .where(and(eq(uploads.id, id), isNull(uploads.removed_at), isNull(users.deleted_at)))
    .get();

/** Finds uploads of the account itself, not those of its predictions. */
export const findOwnUploads = (db: Database, userId: string, ids: string[]) =>
  db
    .select()
    .from(uploads)
    .where(and(inArray(uploads.id, ids), isOwn(userId)))
    .all();

/** Finds uploads that versions of a model name. They are its owner's. */
export const findUploadsOf = (db: Database, modelId: string, ids: string[]) =>
  db
    .selectDistinct(getTableColumns(uploads))
    .from(versionFiles)
    .innerJoin(uploads, eq(uploads.id, versionFiles.upload_id))
    .where(
      and(
        inArray(versionFiles.upload_id, ids),
        eq(versionFiles.model_id, modelId),
        isNull(uploads.removed_at),
      ),
    )
    .all();

/** Completed uploads of one account that become another's, who publishes them with a version. */
export interface MovedUploads {
  ids: string[];
  from: string;
  to: string;
  /** The bytes of all uploads that the new owner may have. */
  max_bytes: number;
}

/** The statements that move uploads. Fail (`isOverFiles`) if the new owner would have more bytes than they may. */
export const moveUploads = (db: Database, { ids, from, to, max_bytes }: MovedUploads) => [
  db
    .update(uploads)
    .set({ user_id: to, token_id: null, maker: "" })
    // The `+` makes SQLite find the uploads by their ids instead of reading all of the account.
    .where(and(isOneOf(ids), sql`+${uploads.user_id} = ${from}`, isNull(uploads.removed_at))),
  // An account over the limit inserts NULL, which the column refuses.
  db.insert(fileBytes).select(sql`SELECT user_id, NULL FROM file_bytes
    WHERE user_id = ${to} AND bytes > ${max_bytes}`),
];

export const isOverFiles = (error: unknown): boolean =>
  failedOn(error, "NOT NULL", "file_bytes.bytes");

/** Whether an upload is the account's own, and not removed. Files that runs put out belong to predictions. */
const isOwn = (userId: string) =>
  and(eq(uploads.user_id, userId), isNull(uploads.prediction_id), isNull(uploads.removed_at));

/**
 * Lists uploads of the account itself, in the order they expire. An upload that is used meanwhile expires
 * later, and may be listed twice.
 */
export function listOwnUploads(db: Database, userId: string, keyset: Keyset) {
  const { where, order, limit } = range([uploads.expires_at, uploads.id], "asc", keyset);
  return db
    .select()
    .from(uploads)
    .where(and(isOwn(userId), where))
    .orderBy(...order)
    .limit(limit)
    .all();
}

/**
 * Lists the files of the account itself, those that expire last first.
 * @param sender only those that this token, or this maker, has sent; undefined: all
 */
export function listCompletedUploads(
  db: Database,
  userId: string,
  { tokenId, maker }: { tokenId: string | undefined; maker: string | undefined },
  keyset: Keyset,
) {
  const { where, order, limit } = range([uploads.expires_at, uploads.id], "desc", keyset);
  return db
    .select()
    .from(uploads)
    .where(
      and(
        isOwn(userId),
        isNotNull(uploads.completed_at),
        tokenId === undefined ? undefined : eq(uploads.token_id, tokenId),
        maker === undefined ? undefined : eq(uploads.maker, maker),
        where,
      ),
    )
    .orderBy(...order)
    .limit(limit)
    .all();
}

export const listParts = (db: Database, uploadId: string) =>
  db
    .select()
    .from(uploadParts)
    .where(eq(uploadParts.upload_id, uploadId))
    .orderBy(uploadParts.part_number)
    .all();

/** Saves a part. A part that is sent again replaces the first. */
export const savePart = (db: Database, row: UploadPartRow) =>
  db
    .insert(uploadParts)
    .values(row)
    .onConflictDoUpdate({
      target: [uploadParts.upload_id, uploadParts.part_number],
      set: { etag: row.etag, utf8_edges: row.utf8_edges },
    });

export const completeUpload = (
  db: Database,
  id: string,
  change: { completed_at: number; expires_at: number; is_utf8: boolean },
) =>
  runBatch(db, [
    db
      .update(uploads)
      .set(change)
      .where(and(eq(uploads.id, id), isNull(uploads.completed_at), isNull(uploads.removed_at))),
    db.delete(uploadParts).where(eq(uploadParts.upload_id, id)),
  ]);

/** Extends completed uploads until then at least. @returns those that still exist */
export const keepUploads = (db: Database, ids: string[], until: number) =>
  db
    .update(uploads)
    .set({ expires_at: sql`max(${uploads.expires_at}, ${until})` })
    .where(
      and(inArray(uploads.id, ids), isNotNull(uploads.completed_at), isNull(uploads.removed_at)),
    )
    .returning({ id: uploads.id })
    .all();

/** When an upload expires that an overview shows. */
const SHOWN_UNTIL = Date.UTC(9999, 11, 31);

/**
 * Keeps those of an account's uploads that an overview of its models shows. Those that none shows any more
 * expire at `until`.
 */
export const keepShown = (db: Database, userId: string, ids: string[], until: number) => {
  const isShown = sql`EXISTS (SELECT 1 FROM models WHERE owner_id = ${userId}
    AND instr(pictures, ${uploads.id}) > 0)`;
  return db
    .update(uploads)
    .set({ expires_at: sql`iif(${isShown}, ${SHOWN_UNTIL}, min(${uploads.expires_at}, ${until}))` })
    .where(and(inArray(uploads.id, ids), isOwn(userId), isNotNull(uploads.completed_at)));
};

/**
 * Extends the uploads that a model's versions name, or one of its versions. Called before these are deleted.
 */
export const keepUploadsOf = (
  db: Database,
  { modelId, number }: { modelId: string; number?: number },
  until: number,
) => {
  const named = db
    .select({ id: versionFiles.upload_id })
    .from(versionFiles)
    .where(
      and(
        eq(versionFiles.model_id, modelId),
        number === undefined ? undefined : eq(versionFiles.version_number, number),
      ),
    );
  return db
    .update(uploads)
    .set({ expires_at: sql`max(${uploads.expires_at}, ${until})` })
    .where(inArray(uploads.id, named));
};

/** Finds a version that names one of these uploads. */
export const findVersionOfUploads = (db: Database, ids: string[]) =>
  db
    .select({
      id: versionFiles.upload_id,
      owner: users.username,
      name: models.name,
      number: versionFiles.version_number,
    })
    .from(versionFiles)
    .innerJoin(models, eq(models.id, versionFiles.model_id))
    .innerJoin(users, eq(users.id, models.owner_id))
    .where(sql`${versionFiles.upload_id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`)
    .limit(1)
    .get();

const isNamed: SQL = sql`EXISTS (SELECT 1 FROM version_files WHERE upload_id = uploads.id)`;

/**
 * Hides an upload so that it can be removed.
 * @returns undefined if the row has changed (completed, extended, or removed), or a version names it
 */
export const claimUpload = (db: Database, row: UploadRow, now: number) =>
  db
    .update(uploads)
    .set({ removed_at: now })
    .where(
      and(
        eq(uploads.id, row.id),
        eq(uploads.expires_at, row.expires_at),
        sql`${uploads.completed_at} IS ${row.completed_at}`,
        sql`NOT ${isNamed}`,
      ),
    )
    .returning({ id: uploads.id })
    .get();

export const deleteUploads = (db: Database, ids: string[]) =>
  db.delete(uploads).where(isOneOf(ids));

/** Whether an id is one of these, which are one parameter: a statement takes 100 at most. */
const isOneOf = (ids: string[]) =>
  sql`${uploads.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`;

/**
 * Lists some accounts with expired uploads, in random order, so that none is always first. Costs two index
 * lookups for each account that has uploads.
 */
export const listAccountsWithExpired = (db: Database, now: number, limit: number) =>
  db.all<{ user_id: string }>(sql`
    WITH RECURSIVE holders (user_id) AS (
      SELECT min(user_id) FROM uploads
      UNION ALL
      SELECT (SELECT min(user_id) FROM uploads WHERE user_id > holders.user_id)
      FROM holders WHERE user_id IS NOT NULL)
    SELECT user_id FROM holders
    WHERE EXISTS (SELECT 1 FROM uploads
      WHERE uploads.user_id = holders.user_id AND expires_at <= ${now})
    ORDER BY random() LIMIT ${limit}`);

/** Extends the first expired uploads of each account that versions name. */
export const keepNamed = (
  db: Database,
  { users, each, now, until }: { users: string[]; each: number; now: number; until: number },
) =>
  db
    .update(uploads)
    .set({ expires_at: until })
    .where(firstExpired(users, each, sql`expires_at <= ${now} AND ${isNamed}`));

/**
 * Hides the first expired uploads of each account so that they can be removed, including those whose
 * removal failed before. They expire again at `again`, in case this one fails too.
 */
export const claimExpired = (
  db: Database,
  { users, each, now, again }: { users: string[]; each: number; now: number; again: number },
) =>
  db
    .update(uploads)
    .set({ removed_at: now, expires_at: again })
    .where(firstExpired(users, each, sql`expires_at <= ${now} AND NOT ${isNamed}`))
    .returning()
    .all();

const firstExpired = (users: string[], each: number, which: SQL) =>
  sql`${uploads.id} IN (
    SELECT one.id FROM json_each(${JSON.stringify(users)}) AS account
    JOIN uploads AS one ON one.id IN (
      SELECT id FROM uploads WHERE user_id = account.value AND ${which}
      ORDER BY expires_at LIMIT ${each}))`;
