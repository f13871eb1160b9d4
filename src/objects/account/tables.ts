/**
 * The tables of an account object. Rows are few: each row and each index entry that is written costs
 * $1 a million, and a no-op prediction may write six in all.
 */
import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { TaskStatus } from "../../protocol/prediction.ts";
import type { DeliveryState, WebhookEventName } from "../../protocol/webhook.ts";

/** The index of predictions, newest last: ids are UUIDv7. */
export const predictions = sqliteTable(
  "predictions",
  {
    id: text().primaryKey(),
    object_id: text().notNull(),
    model_id: text().notNull(),
    model_owner: text().notNull(),
    model_name: text().notNull(),
    version_number: integer().notNull(),
    deployment_id: text(),
    deployment: text(),
    release: integer(),
    stream: integer({ mode: "boolean" }).notNull(),
    status: text().$type<TaskStatus>().notNull(),
    created_at: integer().notNull(),
    updated_at: integer().notNull(),
    setup_time: real(),
    execution_time: real(),
    cost: integer(),
    cost_parts: text(),
    error: text(),
    metrics: text(),
    data_removed: integer({ mode: "boolean" }).notNull(),
    revision: integer().notNull(),
    due_at: integer(),
    kept_seconds: integer(),
    token_id: text().notNull(),
    token_name: text().notNull(),
    client_id: text().notNull(),
    maker: text().notNull(),
    created_by: text(),
    hardware: text().notNull(),
    waits_again: integer({ mode: "boolean" }).notNull(),
  },
  (t) => [
    // Most predictions succeed: these are found in the table, whose order the list has, and cost no row of
    // this index.
    index("predictions_status").on(t.status, t.id).where(sql`status <> 'succeeded'`),
    index("predictions_model").on(t.model_id, t.id),
    // A member's list is a range of this index. In a person's own account it has no rows.
    index("predictions_maker").on(t.maker, t.id).where(sql`maker <> ''`),
    index("predictions_due").on(t.due_at).where(sql`due_at IS NOT NULL`),
  ],
);

/** A prediction counts once, on the day (UTC) it ends. */
export const usage = sqliteTable(
  "usage",
  {
    /** `2026-11-21`. */
    day: text().notNull(),
    model_id: text().notNull(),
    version_number: integer().notNull(),
    /** Empty for the dashboard. */
    token_id: text().notNull(),
    /** Empty in a person's own account. */
    maker: text().notNull(),
    hardware: text().notNull(),
    /** Empty and 0 for a run of a model. */
    deployment_id: text().notNull(),
    release: integer().notNull(),
    /** The latest names: of the model (`owner/name`), of the token, of the maker, and of the deployment. */
    model: text().notNull(),
    token: text().notNull(),
    member: text().notNull(),
    deployment: text().notNull(),
    predictions: integer().notNull(),
    failed: integer().notNull(),
    execution_ms: integer().notNull(),
    setup_ms: integer().notNull(),
    input_tokens: integer().notNull(),
    output_tokens: integer().notNull(),
    cached_tokens: integer().notNull(),
    images: integer().notNull(),
    /** Billionths of the currency unit. */
    cost: integer().notNull(),
  },
  (t) => [
    primaryKey({
      columns: [
        t.day,
        t.model_id,
        t.version_number,
        t.token_id,
        t.maker,
        t.hardware,
        t.deployment_id,
        t.release,
      ],
    }),
  ],
);

/** The latest webhook deliveries. */
export const deliveries = sqliteTable(
  "deliveries",
  {
    prediction_id: text().notNull(),
    sequence: integer().notNull(),
    endpoint_id: text().notNull(),
    event: text().$type<WebhookEventName>().notNull(),
    at: integer().notNull(),
    url: text(),
    state: text().$type<DeliveryState>().notNull(),
    attempts: integer().notNull(),
    status: integer(),
    error: text(),
    next_at: integer(),
    told_at: integer().notNull(),
  },
  (t) => [primaryKey({ columns: [t.prediction_id, t.sequence, t.endpoint_id] })],
);

/** The table is WITHOUT ROWID, so that the key needs no index of its own. drizzle cannot say that. */
const CREATE = `
CREATE TABLE IF NOT EXISTS conversations (object_id TEXT PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS predictions (
  id TEXT PRIMARY KEY, object_id TEXT NOT NULL, model_id TEXT NOT NULL, model_owner TEXT NOT NULL,
  model_name TEXT NOT NULL, version_number INTEGER NOT NULL, deployment_id TEXT, deployment TEXT, release INTEGER,
  stream INTEGER NOT NULL, status TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, setup_time REAL,
  execution_time REAL, cost INTEGER, cost_parts TEXT, error TEXT, metrics TEXT, data_removed INTEGER NOT NULL,
  revision INTEGER NOT NULL, due_at INTEGER, kept_seconds INTEGER,
  token_id TEXT NOT NULL DEFAULT '', token_name TEXT NOT NULL DEFAULT '',
  client_id TEXT NOT NULL DEFAULT '', maker TEXT NOT NULL DEFAULT '', created_by TEXT,
  hardware TEXT NOT NULL DEFAULT '', waits_again INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS predictions_status ON predictions (status, id) WHERE status <> 'succeeded';
CREATE INDEX IF NOT EXISTS predictions_model ON predictions (model_id, id);
CREATE INDEX IF NOT EXISTS predictions_maker ON predictions (maker, id) WHERE maker <> '';
CREATE INDEX IF NOT EXISTS predictions_due ON predictions (due_at) WHERE due_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS usage (
  day TEXT NOT NULL, model_id TEXT NOT NULL, version_number INTEGER NOT NULL, token_id TEXT NOT NULL,
  maker TEXT NOT NULL, hardware TEXT NOT NULL, deployment_id TEXT NOT NULL, release INTEGER NOT NULL,
  model TEXT NOT NULL, token TEXT NOT NULL, member TEXT NOT NULL, deployment TEXT NOT NULL,
  predictions INTEGER NOT NULL, failed INTEGER NOT NULL, execution_ms INTEGER NOT NULL,
  setup_ms INTEGER NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
  cached_tokens INTEGER NOT NULL, images INTEGER NOT NULL, cost INTEGER NOT NULL,
  measures TEXT NOT NULL DEFAULT '{}',
  PRIMARY KEY (day, model_id, version_number, token_id, maker, hardware, deployment_id, release)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (
  maker TEXT NOT NULL, key TEXT NOT NULL, prediction_id TEXT NOT NULL, object_id TEXT NOT NULL,
  hash TEXT NOT NULL, claimed_at INTEGER NOT NULL, PRIMARY KEY (maker, key)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS keys_claimed ON keys (claimed_at);
CREATE TABLE IF NOT EXISTS counts (
  model_id TEXT PRIMARY KEY, closed INTEGER NOT NULL, published INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS removals (
  due_at INTEGER NOT NULL, kept_seconds INTEGER NOT NULL, ended_from INTEGER NOT NULL,
  made_from INTEGER NOT NULL, PRIMARY KEY (due_at, kept_seconds, ended_from, made_from)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS budgets (
  id TEXT PRIMARY KEY, subject TEXT NOT NULL, unit TEXT NOT NULL, most INTEGER NOT NULL, window TEXT NOT NULL,
  kind TEXT NOT NULL, level TEXT NOT NULL, alert_at REAL NOT NULL, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, window_start INTEGER NOT NULL, spent INTEGER NOT NULL,
  alerted_by TEXT NOT NULL, exhausted_by TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS reservations (
  prediction_id TEXT PRIMARY KEY, object_id TEXT NOT NULL, token_id TEXT NOT NULL, maker TEXT NOT NULL,
  client_id TEXT NOT NULL, amount INTEGER NOT NULL, least INTEGER NOT NULL, made_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS files (key TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS deliveries (
  prediction_id TEXT NOT NULL, sequence INTEGER NOT NULL, endpoint_id TEXT NOT NULL, event TEXT NOT NULL,
  at INTEGER NOT NULL, url TEXT, state TEXT NOT NULL, attempts INTEGER NOT NULL, status INTEGER, error TEXT,
  next_at INTEGER, told_at INTEGER NOT NULL, totals TEXT, PRIMARY KEY (prediction_id, sequence, endpoint_id)) WITHOUT ROWID;
`;

export function createTables(storage: SqlStorage): void {
  storage.exec(CREATE);
}

/** The tables of which a deleted account keeps nothing. The others are emptied row by row before. */
const EMPTIED = [
  ...["usage", "counts", "removals", "keys", "deliveries", "files"],
  ...["budgets", "reservations"],
];

export function emptyTables(storage: SqlStorage): void {
  for (const table of EMPTIED) storage.exec(`DELETE FROM ${table}`);
}
