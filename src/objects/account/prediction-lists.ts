/** Reads the index of predictions. */
import { and, eq, inArray, lte, type SQL, sql } from "drizzle-orm";
import type { DrizzleSqliteDODatabase } from "drizzle-orm/durable-sqlite";
import { mergeSorted } from "../../domain/merge-sorted.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import { ascends, type Keyset, range } from "../../storage/keyset.ts";
import type { MeantModel, PredictionFilter } from "./rpc-types.ts";
import { predictions } from "./tables.ts";

export type AccountDatabase = DrizzleSqliteDODatabase;

export const findPrediction = (db: AccountDatabase, id: string): PredictionRow | undefined =>
  db.select().from(predictions).where(eq(predictions.id, id)).get();

/**
 * Predictions, newest first. Each status but `succeeded` is a range of the index by status, each model
 * a range of the index by model; several ranges are merged. With a model, the status is checked row by
 * row: `+` keeps SQLite from the index by status, which would need a sort. A name without a model has
 * no index: rows are scanned until the page is full.
 */
export function listPredictions(
  db: AccountDatabase,
  filter: PredictionFilter,
  keyset: Keyset,
): PredictionRow[] {
  const lists = selectPredictions(db, filter, keyset).map((query) => query.all());
  const order = { keyOf: ({ id }: PredictionRow) => [id], ascending: ascends("desc", keyset) };
  return mergeSorted(lists, order, keyset.limit);
}

export function selectPredictions(db: AccountDatabase, filter: PredictionFilter, keyset: Keyset) {
  const { where, order, limit } = range([predictions.id], "desc", keyset);
  return rangesOf(filter).map((wanted) =>
    db
      .select()
      .from(predictions)
      .where(and(wanted, where))
      .orderBy(...order)
      .limit(limit),
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
 * Tells the planner that the condition is selective. Without statistics it prefers the table itself and
 * reads every row for a rare status.
 */
const few = (condition: SQL) => sql`unlikely(${condition})`;

const among = (value: SQL, wanted: string[]) =>
  wanted.length > 0 ? inArray(value, wanted) : undefined;

/** Some predictions that have not ended. */
export const selectUnfinished = (db: AccountDatabase, limit: number) =>
  db
    .select({ id: predictions.id, object_id: predictions.object_id })
    .from(predictions)
    .where(
      sql`${predictions.status} IN ('pending', 'started') AND ${predictions.status} <> 'succeeded'`,
    )
    .limit(limit);

/** What is to be looked at, longest due first. */
export const selectDue = (db: AccountDatabase, now: number, limit: number) =>
  db
    .select()
    .from(predictions)
    .where(and(lte(predictions.due_at, now), sql`${predictions.due_at} IS NOT NULL`))
    .orderBy(predictions.due_at)
    .limit(limit);

/** When the next one is due, unix ms. */
export const selectNextDue = (db: AccountDatabase) =>
  db
    .select({ due_at: predictions.due_at })
    .from(predictions)
    .where(sql`${predictions.due_at} IS NOT NULL`)
    .orderBy(predictions.due_at)
    .limit(1);

export type OldRow = Pick<
  PredictionRow,
  "id" | "object_id" | "status" | "updated_at" | "data_removed" | "kept_seconds"
>;

/** The oldest ones: not whole, because an error may have 90 KB. */
export const selectOldest = (db: AccountDatabase, limit: number) =>
  db
    .select({
      id: predictions.id,
      object_id: predictions.object_id,
      status: predictions.status,
      updated_at: predictions.updated_at,
      data_removed: predictions.data_removed,
      kept_seconds: predictions.kept_seconds,
    })
    .from(predictions)
    .orderBy(predictions.id)
    .limit(limit);
