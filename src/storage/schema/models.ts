/** Models, their versions, variables and categories, and the listings they appear in. */

import { sql } from "drizzle-orm";
import {
  customType,
  foreignKey,
  index,
  integer,
  primaryKey,
  real,
  sqliteTable,
  text,
  uniqueIndex,
} from "drizzle-orm/sqlite-core";
import type { OutputModality } from "../../domain/models/output-modality.ts";
import { exactText, parseExact } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Compatibilities, Configuration, Schemas, Visibility } from "../../protocol/model.ts";
import type { ShareLevel } from "../../protocol/organization.ts";
import type { Prices, Setter } from "../../protocol/prices.ts";
import type { ImageWeight, WeightFile } from "../../protocol/weights.ts";
import { users } from "./accounts.ts";
import { uploads } from "./files.ts";

export const models = sqliteTable(
  "models",
  {
    id: text().primaryKey(),
    owner_id: text()
      .notNull()
      .references(() => users.id),
    name: text().notNull(),
    visibility: text().$type<Visibility>().notNull(),
    /**
     * The ids of the uploads that the overview shows. The column comes before the long texts: SQLite reads a row
     * from its beginning.
     */
    pictures: text({ mode: "json" }).$type<string[]>().notNull().default([]),
    description: text().notNull(),
    overview: text().notNull(),
    source_url: text(),
    license_url: text(),
    paper_url: text(),
    cover_image_url: text(),
    hardware_identifier: text(),
    /** The last version number given, kept by a trigger: numbers are never reused. */
    last_version: integer().notNull().default(0),
    /** The version that runs when none is named. Null: the latest. */
    default_version: integer(),
    /** The rowid of the model's search documents. */
    seq: integer().unique(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    /** The kind of output of its default version; null: unknown. Triggers list the model by that. */
    makes: text().$type<OutputModality>(),
    /**
     * The picture of the model's gallery entry, in R2: a file of one of its examples. Null: no example has
     * one. Empty: its owner wants none.
     */
    cover_key: text(),
    /** When the model became private, by a trigger. Null: it has never been anything else. */
    hidden_at: integer(),
  },
  (t) => [
    uniqueIndex("models_owner_name").on(t.owner_id, t.name),
    index("models_owner").on(t.owner_id, t.id),
    index("models_hidden").on(t.hidden_at, t.id).where(sql`visibility = 'private'`),
  ],
);

/** A part of a version that its first start tells. */
export type AwaitedPart = "compatibilities" | "schemas";

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
    /** The image's repository, unless the configuration names one: renaming does not move it. */
    repository: text().notNull(),
    /** The size of the unpacked image; 0 until a runner has measured it. */
    size: integer().notNull(),
    /** The bytes of an image in this registry as they are stored, and its platform, `linux/amd64`. */
    compressed_size: integer(),
    platform: text(),
    /** The parts that the first start of a container tells. Null: none, the version is complete. */
    awaits: text({ mode: "json" }).$type<AwaitedPart[]>(),
    /**
     * The configuration without what was read from the image, which later versions inherit. Null: all of it.
     */
    own_configuration: text({ mode: "json" }).$type<Configuration>(),
    weights: text({ mode: "json" }).$type<ImageWeight[]>().notNull().default([]),
    /** The files of `configuration.weights`, as far as predictions need them without another look-up. */
    weight_files: text({ mode: "json" }).$type<WeightFile[]>().notNull().default([]),
    created_at: integer().notNull(),
    /** The version's ID in Replicate's API (domain/replicate/versions.ts), to find it by. */
    hash: text(),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.number] }),
    uniqueIndex("versions_hash").on(t.hash).where(sql`hash IS NOT NULL`),
    index("versions_image").on(t.model_id, t.container_image_digest, t.number),
  ],
);

/** The uploads that versions name, and so keep: by a trigger, from their `weight_files`. */
export const versionFiles = sqliteTable(
  "version_files",
  {
    upload_id: text()
      .notNull()
      .references(() => uploads.id, { onDelete: "cascade" }),
    model_id: text().notNull(),
    version_number: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.upload_id, t.model_id, t.version_number] }),
    foreignKey({
      columns: [t.model_id, t.version_number],
      foreignColumns: [versions.model_id, versions.number],
    }).onDelete("cascade"),
    index("version_files_version").on(t.model_id, t.version_number),
  ],
);

/**
 * The prices of versions (protocol/prices.ts) and when they begin to count. Each row counts until the next of the
 * same setter.
 */
export const versionPrices = sqliteTable(
  "version_prices",
  {
    model_id: text().notNull(),
    version_number: integer().notNull(),
    set_by: text().$type<Setter>().notNull(),
    starts_at: integer().notNull(),
    /** Null: none from then on. */
    prices: text({ mode: "json" }).$type<Prices>(),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.version_number, t.set_by, t.starts_at] }),
    foreignKey({
      columns: [t.model_id, t.version_number],
      foreignColumns: [versions.model_id, versions.number],
    }).onDelete("cascade"),
  ],
);

/** Environment variables of a model's containers: write-only, encrypted (domain/encryption.ts). */
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

/** JSON text whose numbers keep their digits (lib/exact-json.ts). */
const exactJson = customType<{ data: Json; driverData: string }>({
  dataType: () => "text",
  toDriver: (value) => exactText(value),
  fromDriver: parseExact,
});

/**
 * Runs that owners show on their model's page: copies, which outlive their prediction. Their files are in R2,
 * below the id. The table has no foreign key: a row stays until its files are gone.
 */
export const examples = sqliteTable(
  "examples",
  {
    id: text().primaryKey(),
    model_id: text().notNull(),
    /** The position among the model's examples, from the lowest. */
    position: integer().notNull(),
    prediction_id: text().notNull(),
    version_number: integer().notNull(),
    input: exactJson().$type<Record<string, Json>>().notNull(),
    output: exactJson().notNull(),
    execution_seconds: real(),
    created_at: integer().notNull(),
    /** When the sweep removes the example. Null: it is shown. While it is copied it is neither. */
    removes_at: integer(),
  },
  (t) => [
    index("examples_model").on(t.model_id, t.position).where(sql`removes_at IS NULL`),
    uniqueIndex("examples_prediction")
      .on(t.model_id, t.prediction_id)
      .where(sql`removes_at IS NULL`),
    index("examples_removes").on(t.removes_at).where(sql`removes_at IS NOT NULL`),
  ],
);

/** The accounts, users and organizations, that a model is shared with. */
export const collaborators = sqliteTable(
  "collaborators",
  {
    model_id: text()
      .notNull()
      .references(() => models.id, { onDelete: "cascade" }),
    account_id: text()
      .notNull()
      .references(() => users.id, { onDelete: "cascade" }),
    level: text().$type<ShareLevel>().notNull(),
    created_at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.model_id, t.account_id] }),
    index("collaborators_account").on(t.account_id, t.model_id),
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

/**
 * The predictions of each account per model, as its object has last reported them. Triggers add up
 * `model_counts`.
 */
export const accountCounts = sqliteTable(
  "account_counts",
  {
    user_id: text().notNull(),
    model_id: text().notNull(),
    predictions: integer().notNull(),
    /** When the count was reported, which is after its predictions were made. */
    told_at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.user_id, t.model_id] }),
    index("account_counts_told").on(t.told_at, t.user_id, t.model_id),
  ],
);

/** The usage of each account by day (UTC), as its object has last reported it, for operators. */
export const accountUsage = sqliteTable(
  "account_usage",
  {
    day: text().notNull(),
    user_id: text().notNull(),
    predictions: integer().notNull(),
    failed: integer().notNull(),
    execution_ms: integer().notNull(),
    setup_ms: integer().notNull(),
    input_tokens: integer().notNull(),
    output_tokens: integer().notNull(),
    cached_tokens: integer().notNull(),
    images: integer().notNull(),
    cost: integer().notNull(),
    told_at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.day, t.user_id] })],
);

export const modelCounts = sqliteTable(
  "model_counts",
  {
    model_id: text()
      .primaryKey()
      .references(() => models.id, { onDelete: "cascade" }),
    predictions_count: integer().notNull().default(0),
    /** The count in the model's listings, which are updated once a minute and not with every prediction. */
    listed_count: integer().notNull().default(0),
    /**
     * Whether the two counts differ. This is a column, since an index over both would be written each time.
     */
    unlisted: integer({ mode: "boolean" }).notNull().default(false),
  },
  (t) => [index("model_counts_unlisted").on(t.model_id).where(sql`unlisted`)],
);

/**
 * The lists a model appears in unless it is private: those of all models and of its owner's, each for any
 * category, for each category of its own, and for its kind of output, as `makes:text`. Every list of models
 * is a range of this table.
 */
export const listings = sqliteTable(
  "listings",
  {
    /** Empty: the list of all models. */
    owner_id: text().notNull(),
    /** Empty: any category. */
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
