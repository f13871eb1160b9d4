import { and, count, eq, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { TaskStatus } from "../../protocol/prediction.ts";
import type { ProjectionMessage } from "../../protocol/queue.ts";
import { type Database, runBatch } from "../database.ts";
import { type Keyset, range } from "../keyset.ts";
import { fillSize } from "../models/versions.ts";
import { modelCounts, predictions } from "../schema/index.ts";

export type PredictionRow = typeof predictions.$inferSelect;

/** The row of a new prediction, unless a projection has written it already. */
export const insertPrediction = (db: Database, row: ProjectionMessage) =>
  db
    .insert(predictions)
    .values({ ...row, checked_at: row.created_at })
    .onConflictDoNothing();

export const deletePrediction = (db: Database, userId: string, id: string) =>
  db.delete(predictions).where(and(eq(predictions.user_id, userId), eq(predictions.id, id)));

/** A statement takes 100 parameters, and a row needs 18. */
const ROWS_A_STATEMENT = 5;

/** Columns that change during the life of a prediction. */
const CHANGING = [
  "status",
  "updated_at",
  "setup_time",
  "execution_time",
  "error",
  "metrics",
  "data_removed",
  "revision",
  "checked_at",
] as const;

const later = Object.fromEntries(CHANGING.map((name) => [name, sql.raw(`excluded.${name}`)]));

/** Writes rows, except where later events were already written. */
const project = (db: Database, rows: ProjectionMessage[]) =>
  db
    .insert(predictions)
    .values(rows.map((row) => ({ ...row, checked_at: row.updated_at })))
    .onConflictDoUpdate({
      target: [predictions.user_id, predictions.id],
      set: later,
      setWhere: sql`${predictions.revision} < excluded.revision`,
    });

/** Removal is no event. This writes one row; an upsert, which sets the status, the index by it as well. */
const markRemoved = (db: Database, { user_id, id, revision }: ProjectionMessage) =>
  db
    .update(predictions)
    .set({ data_removed: true })
    .where(
      and(
        eq(predictions.user_id, user_id),
        eq(predictions.id, id),
        eq(predictions.revision, revision),
        eq(predictions.data_removed, false),
      ),
    );

/** All in one transaction. The listings sorted by prediction count follow with the next sweep. */
export async function projectPredictions(db: Database, rows: ProjectionMessage[]): Promise<void> {
  const parts = Array.from({ length: Math.ceil(rows.length / ROWS_A_STATEMENT) }, (_, n) =>
    project(db, rows.slice(n * ROWS_A_STATEMENT, (n + 1) * ROWS_A_STATEMENT)),
  );
  const removals = rows
    .filter(({ data_removed }) => data_removed)
    .map((row) => markRemoved(db, row));
  // Removals last: a batch may have a row's end and its removal.
  if (parts.length > 0) await runBatch(db, [...parts, ...removals, ...sizesIn(db, rows)]);
}

/** The sizes of images, from the predictions that have measured them. */
const sizesIn = (db: Database, rows: ProjectionMessage[]) =>
  rows.flatMap(({ model_id, version_number, image_bytes }) =>
    image_bytes === null ? [] : [fillSize(db, model_id, version_number, image_bytes)],
  );

export const findPrediction = (db: Database, userId: string, id: string) =>
  db
    .select()
    .from(predictions)
    .where(and(eq(predictions.user_id, userId), eq(predictions.id, id)))
    .get();

/** An existing model, under any of its names, or a name that no model has now. */
export type MeantModel = { id: string } | { owner: string; name: string };

interface PredictionFilter {
  /** Empty: any status. */
  statuses: TaskStatus[];
  model: MeantModel | undefined;
  /** Limits the list to these models. Null: any model. */
  models: string[] | null;
}

/**
 * A user's predictions, newest first (ids are UUIDv7), as lists to merge, in one round trip. Each
 * status but `succeeded` is a range of the index by status, each model a range of the index by model. With a model,
 * the status is checked row by row: `+` keeps SQLite from the index by status, which would need a
 * sort. A name without a model has no index: the user's rows are scanned until the page is full.
 */
export function listPredictions(
  db: Database,
  userId: string,
  filter: PredictionFilter,
  keyset: Keyset,
) {
  const { where, order, limit } = range([predictions.id], "desc", keyset);
  return runBatch(
    db,
    rangesOf(filter).map((wanted) =>
      db
        .select()
        .from(predictions)
        .where(and(eq(predictions.user_id, userId), wanted, where))
        .orderBy(...order)
        .limit(limit),
    ),
  );
}

function rangesOf({ statuses, model, models }: PredictionFilter): (SQL | undefined)[] {
  const { status, model_id } = predictions;
  const ofStatus = among(sql`+${status}`, statuses);
  if (model && models && "id" in model)
    return models.includes(model.id) ? [and(ofModel(model), ofStatus)] : [];
  const ofModels = models ? inArray(sql`+${model_id}`, models) : undefined;
  if (model) return [and(ofModel(model), ofStatus, ofModels)];
  if (models) return models.map((id) => and(ofModel({ id }), ofStatus));
  return statuses.length > 0 ? statuses.map(ofStatusAlone) : [undefined];
}

/** The index by status has all but `succeeded`, and SQLite is to see that. */
const ofStatusAlone = (status: TaskStatus) =>
  status === "succeeded"
    ? sql`+${predictions.status} = ${status}`
    : and(few(eq(predictions.status, status)), sql`${predictions.status} <> 'succeeded'`);

const ofModel = (model: MeantModel) =>
  "id" in model
    ? few(eq(predictions.model_id, model.id))
    : and(eq(predictions.model_owner, model.owner), eq(predictions.model_name, model.name));

/**
 * Tells the planner that the condition is selective. Without statistics, which D1 does not have, it
 * prefers the table itself and reads every row of the user for a rare status.
 */
const few = (condition: SQL) => sql`unlikely(${condition})`;

const among = (value: SQL, wanted: string[]) =>
  wanted.length > 0 ? inArray(value, wanted) : undefined;

const MAX_UNDER_WAY = 20;

/** Some predictions of a model, or of a version, that have not ended. */
export const findUnfinished = (db: Database, modelId: string, number: number | undefined) =>
  db
    .select()
    .from(predictions)
    .where(
      and(
        sql`${predictions.status} IN ('pending', 'started')`,
        eq(predictions.model_id, modelId),
        number === undefined ? undefined : eq(predictions.version_number, number),
      ),
    )
    .limit(MAX_UNDER_WAY)
    .all();

/** Rows that are not terminal and were last checked before `before`; marks them as checked. */
export const takeOverdue = (db: Database, before: number, now: number, limit: number) =>
  db
    .update(predictions)
    .set({ checked_at: now })
    .where(
      sql`(${predictions.user_id}, ${predictions.id}) IN (
        SELECT user_id, id FROM predictions
        WHERE status IN ('pending', 'started') AND checked_at < ${before}
        ORDER BY checked_at LIMIT ${limit})`,
    )
    .returning()
    .all();

/** Marks rows whose objects no longer have any data. */
export const markDataRemoved = (db: Database, userId: string, ids: string[]) =>
  db
    .update(predictions)
    .set({ data_removed: true })
    .where(
      and(
        eq(predictions.user_id, userId),
        // A statement takes 100 parameters.
        sql`${predictions.id} IN (SELECT value FROM json_each(${JSON.stringify(ids)}))`,
      ),
    );

/**
 * Deletes the rows up to an id whose data is removed. The models' prediction counts stay: what the
 * trigger subtracts for each row is added back.
 */
export function deletePredictions(db: Database, userId: string, last: string) {
  const gone = and(
    eq(predictions.user_id, userId),
    lte(predictions.id, last),
    eq(predictions.data_removed, true),
  );
  const runs = db
    .select({ model_id: predictions.model_id, runs: count().as("runs") })
    .from(predictions)
    .where(gone)
    .groupBy(predictions.model_id)
    .as("gone");
  return runBatch(db, [
    db
      .update(modelCounts)
      .set({ predictions_count: sql`${modelCounts.predictions_count} + ${runs.runs}` })
      .from(runs)
      .where(eq(runs.model_id, modelCounts.model_id)),
    db.delete(predictions).where(gone),
  ]);
}

const isBefore = (userId: string, before: string) =>
  and(eq(predictions.user_id, userId), lt(predictions.id, before));

/**
 * For several users: the first `limit` rows before an id whose data is removed.
 * @returns for each user the id of the last of these rows, null if there is none
 */
export async function findLastRemoved(
  db: Database,
  userIds: string[],
  before: string,
  limit: number,
): Promise<(string | null)[]> {
  const found = await runBatch(
    db,
    userIds.map((userId) => {
      const first = db
        .select({ id: predictions.id })
        .from(predictions)
        .where(and(isBefore(userId, before), eq(predictions.data_removed, true)))
        .orderBy(predictions.id)
        .limit(limit)
        .as("first");
      return db.select({ last: sql<string | null>`max(${first.id})` }).from(first);
    }),
  );
  return found.map(([row]) => row?.last ?? null);
}

/** Some of a user's ended predictions before an id that are not marked as removed. */
export const findUnremoved = (db: Database, userId: string, before: string, limit: number) =>
  db
    .select()
    .from(predictions)
    .where(
      and(
        isBefore(userId, before),
        eq(predictions.data_removed, false),
        sql`${predictions.status} NOT IN ('pending', 'started')`,
      ),
    )
    .orderBy(predictions.id)
    .limit(limit)
    .all();
