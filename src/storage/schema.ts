/** The tables of D1. Times are unix milliseconds. */
import { sql } from "drizzle-orm";
import {
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { Metrics } from "../protocol/event.ts";
import type { Compatibilities, Configuration, Schemas, Visibility } from "../protocol/model.ts";
import type { Scope } from "../protocol/operator.ts";
import type { PredictionError, TaskStatus } from "../protocol/prediction.ts";
import type { WebhookEventName } from "../protocol/webhook.ts";

export const users = sqliteTable(
  "users",
  {
    id: text().primaryKey(),
    username: text().notNull().unique(),
    name: text().notNull(),
    avatar_url: text().notNull(),
    bio: text().notNull().default(""),
    /** Personal and professional websites. */
    urls: text({ mode: "json" }).$type<string[]>().notNull().default([]),
    location: text().notNull().default(""),
    company: text().notNull().default(""),
    /** Fingerprint of the OPERATOR_TOKEN that it has proved to hold: good for as long as that is the one. */
    operator_proof: text(),
    /** Since when the operator lets it do nothing. */
    suspended_at: integer(),
    /** When a link of an operator's gave it a new password, until its user has read that. */
    recovered_at: integer(),
    /** The rowid of its search documents. */
    seq: integer().unique(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    /** When it was given up: from then on it is there for nobody, and the sweep removes what it had. */
    deleted_at: integer(),
  },
  (t) => [
    index("users_operators").on(t.operator_proof, t.id).where(sql`operator_proof IS NOT NULL`),
    index("users_suspended").on(t.suspended_at, t.id).where(sql`suspended_at IS NOT NULL`),
  ],
);

/** Who may sign up where not everybody may. */
export const invitations = sqliteTable(
  "invitations",
  {
    id: text().primaryKey(),
    /** SHA-256 of what its link has. */
    hash: text().notNull().unique(),
    /** For whom, in the operator's words. */
    note: text().notNull(),
    /** The user that whoever accepts it becomes: one that was made over the API. Null: a new one. */
    user_id: text().references(() => users.id),
    /** It gives that user, who could sign in when it was made, a new password; and nothing else does. */
    recovers: integer({ mode: "boolean" }).notNull(),
    /** The operator. */
    made_by: text(),
    created_at: integer().notNull(),
    expires_at: integer().notNull(),
    accepted_at: integer(),
  },
  (t) => [index("invitations_user").on(t.user_id)],
);

/** How many accounts were tried, by day (UTC) and by whom: counted to be bounded. */
export const signUpTries = sqliteTable(
  "sign_up_tries",
  {
    day: text().notNull(),
    by: text().notNull(),
    tries: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.day, t.by] })],
);

/**
 * Whose a username is, or was: a name that somebody has given up is not given to anybody else,
 * since the images in the registry below it are still theirs.
 */
export const usernames = sqliteTable(
  "usernames",
  {
    username: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
  },
  (t) => [index("usernames_user").on(t.user_id)],
);

/**
 * How often a username was released: images of earlier holders lie below it in the registry, and
 * must not be its next holder's.
 */
export const releasedUsernames = sqliteTable("released_usernames", {
  username: text().primaryKey(),
  times: integer().notNull(),
});

/** Keys that the deployment made for itself, by the migration that first needed them (hex). */
export const keys = sqliteTable("keys", {
  name: text().primaryKey(),
  value: text().notNull(),
});

/** Access tokens: only their SHA-256 is kept. */
export const tokens = sqliteTable(
  "tokens",
  {
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    hash: text().notNull().unique(),
    /** The first characters, to tell one from another. */
    prefix: text().notNull(),
    scopes: text({ mode: "json" }).$type<Scope[]>().notNull(),
    /** The ids of the models that it is for (domain/accounts/access.ts). Null: all. */
    models: text({ mode: "json" }).$type<string[]>(),
    created_at: integer().notNull(),
    expires_at: integer(),
    /** Within some minutes: it is not written with every request. */
    last_used_at: integer(),
  },
  (t) => [index("tokens_user").on(t.user_id, t.id)],
);

export const runnerTokens = sqliteTable("runner_tokens", {
  id: text().primaryKey(),
  name: text().notNull(),
  hash: text().notNull().unique(),
  prefix: text().notNull(),
  hardware: text({ mode: "json" }).$type<string[]>().notNull(),
  created_at: integer().notNull(),
  last_used_at: integer(),
  revoked_at: integer(),
});

export const runners = sqliteTable(
  "runners",
  {
    id: text().primaryKey(),
    token_id: text()
      .notNull()
      .references(() => runnerTokens.id),
    name: text().notNull(),
    hardware: text().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
  },
  (t) => [uniqueIndex("runners_token_name").on(t.token_id, t.name)],
);

export const hardware = sqliteTable("hardware", {
  identifier: text().primaryKey(),
  name: text().notNull(),
  gpus: integer().notNull(),
  cpus: integer().notNull(),
  ram_per_gpu_gb: real().notNull(),
  ram_gb: real().notNull(),
  /** In the operator's currency. */
  price_per_hour: real(),
  created_at: integer().notNull(),
});

export const models = sqliteTable(
  "models",
  {
    id: text().primaryKey(),
    owner_id: text()
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    visibility: text().$type<Visibility>().notNull(),
    description: text().notNull(),
    overview: text().notNull(),
    source_url: text(),
    license_url: text(),
    paper_url: text(),
    cover_image_url: text(),
    hardware_identifier: text(),
    /** The last number that a version was given, by trigger: none is given again. */
    last_version: integer().notNull().default(0),
    /** The rowid of its search documents. */
    seq: integer().unique(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
  },
  (t) => [
    uniqueIndex("models_owner_name").on(t.owner_id, t.name),
    index("models_owner").on(t.owner_id, t.id),
  ],
);

export const categories = sqliteTable("categories", {
  slug: text().primaryKey(),
  name: text().notNull(),
  description: text().notNull(),
  created_at: integer().notNull(),
});

export const modelCategories = sqliteTable(
  "model_categories",
  {
    model_id: text()
      .notNull()
      .references(() => models.id, { onDelete: "cascade" }),
    category_slug: text()
      .notNull()
      .references(() => categories.slug),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.category_slug] }),
    index("model_categories_slug").on(t.category_slug),
  ],
);

/** What a model's containers find in their environment and nobody reads again: sealed (domain/encryption.ts). */
export const modelVariables = sqliteTable(
  "model_variables",
  {
    model_id: text()
      .notNull()
      .references(() => models.id, { onDelete: "cascade" }),
    name: text().notNull(),
    sealed: text().notNull(),
    updated_at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.model_id, t.name] })],
);

/** How often a model was run: counted by triggers on `predictions`, one for each row. */
export const modelCounts = sqliteTable(
  "model_counts",
  {
    model_id: text()
      .primaryKey()
      .references(() => models.id, { onDelete: "cascade" }),
    predictions_count: integer().notNull().default(0),
    /** The count that its listings have: they follow once a second, not with every prediction. */
    listed_count: integer().notNull().default(0),
  },
  (t) => [
    index("model_counts_unlisted").on(t.model_id).where(sql`predictions_count <> listed_count`),
  ],
);

/**
 * Where a model that is not private is listed: among all models and among its owner's, in any
 * category and in each of its own. Every list of models is a range of this table.
 */
export const listings = sqliteTable(
  "listings",
  {
    /** Empty: the list of all. */
    owner_id: text().notNull(),
    /** Empty: in any category. */
    category_slug: text().notNull(),
    model_id: text()
      .notNull()
      .references(() => models.id, { onDelete: "cascade" }),
    predictions_count: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.owner_id, t.category_slug, t.model_id] }),
    index("listings_count")
      .on(t.owner_id, t.category_slug, t.predictions_count, t.model_id)
      .where(sql`predictions_count > 0`),
    index("listings_model").on(t.model_id),
  ],
);

export const versions = sqliteTable(
  "versions",
  {
    model_id: text()
      .notNull()
      .references(() => models.id),
    number: integer().notNull(),
    release_notes: text().notNull(),
    container_image_digest: text().notNull(),
    schemas: text({ mode: "json" }).$type<Schemas>().notNull(),
    compatibilities: text({ mode: "json" }).$type<Compatibilities>().notNull(),
    configuration: text({ mode: "json" }).$type<Configuration>().notNull(),
    /** Where its image lies unless the configuration says: a rename does not move it. */
    repository: text(),
    size: integer().notNull(),
    created_at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.model_id, t.number] })],
);

/**
 * The index of predictions. Everybody reads only their own, so the key begins with the user: the
 * table is its own index for get and list, and an insert writes three rows instead of five
 * (WITHOUT ROWID: by hand in the migration, drizzle-kit has no word for it).
 */
export const predictions = sqliteTable(
  "predictions",
  {
    user_id: text().notNull(),
    id: text().notNull(),
    object_id: text().notNull(),
    model_id: text().notNull(),
    model_owner: text().notNull(),
    model_name: text().notNull(),
    version_number: integer().notNull(),
    stream: integer({ mode: "boolean" }).notNull(),
    status: text().$type<TaskStatus>().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    setup_time: real(),
    execution_time: real(),
    error: text({ mode: "json" }).$type<PredictionError>(),
    metrics: text({ mode: "json" }).$type<Metrics>(),
    data_removed: integer({ mode: "boolean" }).notNull(),
    /** The id of the last event that the row has seen. */
    revision: integer().notNull(),
    /** When the sweep last asked the object of a row that is not terminal. */
    checked_at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.user_id, t.id] }),
    index("predictions_status").on(t.user_id, t.status, t.id),
    index("predictions_model").on(t.user_id, t.model_id, t.id),
    index("predictions_active").on(t.checked_at).where(sql`status IN ('pending', 'started')`),
  ],
);

/**
 * What an account has run, by day (UTC) and model: counted by triggers when a prediction ends
 * (WITHOUT ROWID, by hand in the migration).
 */
export const usage = sqliteTable(
  "usage",
  {
    user_id: text().notNull(),
    /** `2026-11-21`. */
    day: text().notNull(),
    model_id: text().notNull(),
    /** `owner/name`, as it was called last. */
    model: text().notNull(),
    predictions: integer().notNull(),
    failed: integer().notNull(),
    execution_seconds: real().notNull(),
  },
  (t) => [primaryKey({ columns: [t.user_id, t.day, t.model_id] })],
);

/**
 * What an account takes of the database, in bytes with the indices, as near as triggers can tell:
 * its models, versions, variables, tokens, uploads, predictions and usage (WITHOUT ROWID, by hand in
 * the migration). Endpoints, profile and usernames are few.
 */
export const accountBytes = sqliteTable(
  "account_bytes",
  {
    user_id: text().primaryKey(),
    bytes: integer().notNull(),
    /** Before the write that is under way: one that makes it less is let through, however much it is. */
    bytes_before: integer().notNull().default(0),
    /** When the sweep last looked for rows that have had their time. */
    swept_at: integer().notNull().default(0),
  },
  (t) => [index("account_bytes_swept").on(t.swept_at)],
);

/**
 * Files that come in parts, and those that have come: until it is completed each is a multipart
 * upload of R2. Of one that a runner sends for a prediction only
 * the row goes with the sweep: the file is the prediction's.
 */
export const uploads = sqliteTable(
  "uploads",
  {
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    prediction_id: text(),
    /** Whose caller began it: a token, or a session of the dashboard. Null: a runner. */
    token_id: text(),
    /** In R2. */
    key: text().notNull(),
    /** R2's name for the multipart upload. */
    multipart_id: text().notNull(),
    size: integer().notNull(),
    mime_type: text().notNull(),
    name: text(),
    part_size: integer().notNull(),
    created_at: integer().notNull(),
    completed_at: integer(),
    /** When the sweep removes it. */
    expires_at: integer().notNull(),
    /** When its removal began: from then on it is not there for anybody. */
    removed_at: integer(),
  },
  (t) => [
    index("uploads_expires").on(t.user_id, t.expires_at),
    index("uploads_pending")
      .on(t.user_id)
      .where(sql`completed_at IS NULL AND prediction_id IS NULL`),
  ],
);

/** The parts of pending uploads that have arrived. */
export const uploadParts = sqliteTable(
  "upload_parts",
  {
    upload_id: text()
      .notNull()
      .references(() => uploads.id, { onDelete: "cascade" }),
    part_number: integer().notNull(),
    etag: text().notNull(),
  },
  (t) => [primaryKey({ columns: [t.upload_id, t.part_number] })],
);

/** Receivers of the events of all predictions of an account. */
export const webhookEndpoints = sqliteTable(
  "webhook_endpoints",
  {
    id: text().primaryKey(),
    user_id: text()
      .notNull()
      .references(() => users.id),
    url: text().notNull(),
    description: text().notNull(),
    events: text({ mode: "json" }).$type<WebhookEventName[]>().notNull(),
    /** Each of them signs. */
    secrets: text({ mode: "json" }).$type<EndpointSecret[]>().notNull(),
    enabled: integer({ mode: "boolean" }).notNull(),
    /** When the first of the tries began that have all failed since. */
    failing_since: integer(),
    last_error: text(),
    /** Why the service has switched it off. */
    notice: text(),
    created_at: integer().notNull(),
    /** When somebody last changed it, or it was switched off: not what its deliveries met. */
    updated_at: integer().notNull(),
  },
  (t) => [index("webhook_endpoints_user").on(t.user_id, t.id)],
);

export interface EndpointSecret {
  id: string;
  secret: string;
  /** Whether the secret is (domain/webhooks/stored-secret.ts): not where there is no SECRET_KEY. */
  sealed?: boolean;
  created_at: number;
}
