import { sql } from "drizzle-orm";
import { index, integer, primaryKey, real, sqliteTable, text } from "drizzle-orm/sqlite-core";
import type { Metrics } from "../../protocol/event.ts";
import type { PredictionError, TaskStatus } from "../../protocol/prediction.ts";

/**
 * The index of predictions; each prediction itself lives in its Durable Object. Users read only
 * their own, so the key starts with the user: the table serves get and list without another index,
 * and an insert writes three rows instead of five (WITHOUT ROWID, by hand in the migration because
 * drizzle-kit cannot express it).
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
    /** The id of the last event applied to the row. */
    revision: integer().notNull(),
    /** When the sweep last asked the object about a row that is not terminal. */
    checked_at: integer().notNull(),
  },
  (t) => [
    primaryKey({ columns: [t.user_id, t.id] }),
    // Most succeed: they are found in the table, whose order the list has, and cost no row of this.
    index("predictions_status").on(t.user_id, t.status, t.id).where(sql`status <> 'succeeded'`),
    index("predictions_model").on(t.user_id, t.model_id, t.id),
    index("predictions_active").on(t.checked_at).where(sql`status IN ('pending', 'started')`),
  ],
);
