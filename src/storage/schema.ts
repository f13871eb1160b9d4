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

export const users = sqliteTable("users", {
  id: text().primaryKey(),
  username: text().notNull().unique(),
  name: text().notNull(),
  avatar_url: text().notNull(),
  created_at: integer().notNull(),
  updated_at: integer().notNull(),
});

/** Access tokens: only their SHA-256 is kept. */
export const tokens = sqliteTable("tokens", {
  id: text().primaryKey(),
  user_id: text()
    .notNull()
    .references(() => users.id),
  name: text().notNull(),
  hash: text().notNull().unique(),
  /** The first characters, to tell one from another. */
  prefix: text().notNull(),
  scopes: text({ mode: "json" }).$type<Scope[]>().notNull(),
  created_at: integer().notNull(),
  expires_at: integer(),
  revoked_at: integer(),
});

export const runnerTokens = sqliteTable("runner_tokens", {
  id: text().primaryKey(),
  name: text().notNull(),
  hash: text().notNull().unique(),
  prefix: text().notNull(),
  hardware: text({ mode: "json" }).$type<string[]>().notNull(),
  created_at: integer().notNull(),
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
    hardware_identifier: text(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
  },
  (t) => [uniqueIndex("models_owner_name").on(t.owner_id, t.name)],
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
    index("predictions_active").on(t.checked_at).where(sql`status IN ('pending', 'started')`),
  ],
);
