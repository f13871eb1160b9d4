/**
 * The image registry. Repositories are models, by their id: a rename moves nothing. Rows have no foreign key
 * to the model, since an image outlives it while predictions that were accepted need it (`registry_holds`).
 */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";

/** The stored blobs, once for the whole deployment: layers, configurations, and manifests. */
export const registryBlobs = sqliteTable(
  "registry_blobs",
  {
    digest: text().primaryKey(),
    /**
     * The key in R2. Each upload has a new one, so that an object that is being deleted is never one that is
     * being stored.
     */
    key: text().notNull(),
    size: integer().notNull(),
    created_at: integer().notNull(),
  },
  (t) => [index("registry_blobs_key").on(t.key)],
);

/**
 * The repositories that have a blob: by an upload of all of its bytes, or by a mount. It cannot be read
 * elsewhere.
 */
export const registryLinks = sqliteTable(
  "registry_links",
  {
    model_id: text().notNull(),
    digest: text()
      .notNull()
      .references(() => registryBlobs.digest),
    /** The model's owner, for whom the blob counts once. */
    user_id: text().notNull(),
    size: integer().notNull(),
    /** When a push last relied on the link. */
    used_at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.digest] }),
    index("registry_links_owner").on(t.user_id, t.digest),
    index("registry_links_digest").on(t.digest),
    index("registry_links_used").on(t.used_at),
  ],
);

export const registryManifests = sqliteTable(
  "registry_manifests",
  {
    model_id: text().notNull(),
    digest: text()
      .notNull()
      .references(() => registryBlobs.digest),
    user_id: text().notNull(),
    media_type: text().notNull(),
    size: integer().notNull(),
    /** The digest that the manifest is attached to, and the artifact type, or that of its configuration. */
    subject: text(),
    artifact_type: text(),
    annotations: text({ mode: "json" }).$type<Record<string, string>>(),
    /** How many digests the manifest names. */
    named: integer().notNull(),
    used_at: integer().notNull(),
    /**
     * When the manifest was put last: `used_at` also moves when the collection finds it needed. 0: by an
     * older Worker.
     */
    pushed_at: integer().notNull().default(0),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.digest] }),
    index("registry_manifests_subject")
      .on(t.model_id, t.subject, t.digest)
      .where(sql`subject IS NOT NULL`),
    index("registry_manifests_digest").on(t.digest),
    index("registry_manifests_used").on(t.used_at),
    index("registry_manifests_owner").on(t.user_id, t.pushed_at, t.model_id, t.digest),
  ],
);

/** The digests that each manifest names: blobs, and for an index, manifests. */
export const registryReferences = sqliteTable(
  "registry_references",
  {
    model_id: text().notNull(),
    manifest: text().notNull(),
    digest: text().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.manifest, t.digest] }),
    index("registry_references_digest").on(t.model_id, t.digest),
  ],
);

export const registryTags = sqliteTable(
  "registry_tags",
  {
    model_id: text().notNull(),
    tag: text().notNull(),
    digest: text().notNull(),
    user_id: text().notNull(),
    updated_at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.tag] }),
    index("registry_tags_digest").on(t.model_id, t.digest),
  ],
);

/** Images of deleted versions, until every prediction that was accepted before has ended. By a trigger. */
export const registryHolds = sqliteTable(
  "registry_holds",
  {
    model_id: text().notNull(),
    digest: text().notNull(),
    until: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.digest] }),
    index("registry_holds_until").on(t.until),
  ],
);

/** Models that are deleted, or whose holds have ended, and whose images are to be released. By a trigger. */
export const registryReleased = sqliteTable("registry_released", {
  model_id: text().primaryKey(),
  /** The digest up to which the images are released. */
  after: text().notNull().default(""),
});

/**
 * Uploads under way. The received bytes are in R2: whole parts of a multipart upload, and the rest, which is
 * shorter than a part, as an object of its own.
 */
export const registryUploads = sqliteTable(
  "registry_uploads",
  {
    id: text().primaryKey(),
    model_id: text().notNull(),
    user_id: text().notNull(),
    key: text().notNull(),
    /** R2's id of the multipart upload. Null until a whole part has arrived. */
    multipart_id: text(),
    parts: integer().notNull().default(0),
    /** The number of bytes after the last part, and their key. */
    rest: integer().notNull().default(0),
    rest_key: text(),
    /** The state of the SHA-256 so far (domain/registry/resumable-hash.ts). */
    hash: text().notNull(),
    /** The request that is writing: a later one takes over. */
    holder: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
  },
  (t) => [
    index("registry_uploads_owner").on(t.user_id),
    index("registry_uploads_updated").on(t.updated_at),
  ],
);

export const registryUploadParts = sqliteTable(
  "registry_upload_parts",
  {
    upload_id: text()
      .notNull()
      .references(() => registryUploads.id, { onDelete: "cascade" }),
    number: integer().notNull(),
    etag: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.upload_id, t.number] })],
);

/** Objects and multipart uploads in R2 that nothing names any more. */
export const registryGarbage = sqliteTable("registry_garbage", {
  key: text().primaryKey(),
  multipart_id: text(),
});

/** Bytes of images per account, by triggers: a blob counts once even if several models have it. */
export const registryBytes = sqliteTable("registry_bytes", {
  user_id: text().primaryKey(),
  bytes: integer().notNull(),
});
