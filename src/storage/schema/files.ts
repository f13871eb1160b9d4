/** Uploaded files. */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, sqliteTable, text } from "drizzle-orm/sqlite-core";
import { users } from "./accounts.ts";

/**
 * Pending and completed uploads. A pending one is a multipart upload of R2. The sweep removes an
 * expired upload with its file, except for a runner's upload for a prediction: the file belongs to
 * the prediction, and only the row goes.
 */
export interface UploadDetails {
  sha256: string;
  /** An object that its sender chose. */
  metadata: Record<string, unknown>;
}

export const uploads = sqliteTable(
  "uploads",
  {
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    prediction_id: text(),
    /** The caller that created the upload: a token, or a session of the dashboard. Null: a runner. */
    token_id: text(),
    key: text().notNull(),
    multipart_id: text().notNull(),
    size: integer().notNull(),
    mime_type: text().notNull(),
    name: text(),
    part_size: integer().notNull(),
    created_at: integer().notNull(),
    completed_at: integer(),
    expires_at: integer().notNull(),
    /** When the removal of the upload began: from then on nobody can read it. */
    removed_at: integer(),
    /** Whether the file is a text without a charset in its type whose bytes are UTF-8. */
    is_utf8: integer({ mode: "boolean" }).notNull().default(false),
    /** Facts of a file that came over Replicate's API. */
    details: text({ mode: "json" }).$type<UploadDetails>(),
    /** The maker (domain/accounts/access.ts). Empty in a person's own account. */
    maker: text().notNull().default(""),
  },
  (t) => [
    index("uploads_expires").on(t.user_id, t.expires_at),
    index("uploads_pending")
      .on(t.user_id)
      .where(sql`completed_at IS NULL AND prediction_id IS NULL`),
    index("uploads_prediction").on(t.prediction_id).where(sql`prediction_id IS NOT NULL`),
  ],
);

/** The bytes of each account's uploads, declared or completed, added up by triggers. */
export const fileBytes = sqliteTable("file_bytes", {
  user_id: text().primaryKey(),
  bytes: integer().notNull(),
});

export const uploadParts = sqliteTable(
  "upload_parts",
  {
    upload_id: text()
      .notNull()
      .references(() => uploads.id, { onDelete: "cascade" }),
    part_number: integer().notNull(),
    etag: text().notNull(),
    /**
     * The state of `Utf8Check` for a part of a text. Null for any other file, and for a part that is not
     * UTF-8.
     */
    utf8_edges: text(),
  },
  (t) => [primaryKey({ columns: [t.upload_id, t.part_number] })],
);

/** Keys that the deployment generated for itself, in its first migration (hex). */
export const keys = sqliteTable("keys", {
  name: text().primaryKey(),
  value: text().notNull(),
});
