/** Reads the index of predictions. */
import { and, desc, eq, gte, inArray, lt, lte, type SQL, sql } from "drizzle-orm";
import type { DrizzleSqliteDODatabase } from "drizzle-orm/durable-sqlite";
import { WARM_UP } from "../../domain/accounts/usage.ts";
import { mergeSorted } from "../../domain/cursor.ts";
import { MAX_RUNS } from "../../domain/money/reservation.ts";
import type { PredictionRow } from "../../domain/predictions/prediction-row.ts";
import type { TaskStatus } from "../../protocol/prediction.ts";
import { ascends, type Keyset, range } from "../../storage/keyset.ts";
import type { ListedPredictions, ModelName, PredictionFilter } from "../stubs/account.ts";
import { predictions } from "./tables.ts";

export type AccountDatabase = DrizzleSqliteDODatabase;

/** Rows that are checked for a page, whether they match or not: some 10 ms. */
export const MAX_CHECKED = 10_000;

export const findPrediction = (db: AccountDatabase, id: string): PredictionRow | undefined =>
  db.select().from(predictions).where(eq(predictions.id, id)).get();

/**
 * Predictions, newest first. Each status but `succeeded` is a range of the index by status, each model a
 * range of the index by model; several ranges are merged. Other conditions are checked row by row, up to
 * MAX_CHECKED rows: an account may have millions of rows of which none matches.
 */
export function listPredictions(
  db: AccountDatabase,
  filter: PredictionFilter,
  keyset: Keyset,
): ListedPredictions {
  const ascending = ascends("desc", keyset);
  const ranges = rangesOf(filter);
  const budget = Math.ceil(MAX_CHECKED / Math.max(1, ranges.length));
  const lists: PredictionRow[][] = [];
  let reached: string | undefined;
  for (const range of ranges) {
    const rows = selectPage(db, range, keyset, budget).all();
    lists.push(rows);
    if (!range.check || rows.length === keyset.limit) continue;
    const last = selectLastChecked(db, range, keyset, budget).get()?.id;
    if (last === undefined) continue;
    reached = reached === undefined || last < reached === ascending ? last : reached;
  }
  const order = { keyOf: ({ id }: PredictionRow) => [id], ascending };
  const rows = mergeSorted(lists, order, keyset.limit);
  if (reached === undefined) return { rows };
  const end = reached;
  const checked = rows.filter(({ id }) => id === end || id < end === ascending);
  return checked.length === keyset.limit ? { rows } : { rows: checked, reached: [end] };
}

/** Part of the index, and the conditions that each of its rows must meet. */
export interface Range {
  within: SQL | undefined;
  check: SQL | undefined;
}

/**
 * Returns the matches among a limited number of rows. Rows are checked one by one until the page is full: a
 * second order would have SQLite read all of them first.
 */
export function selectPage(
  db: AccountDatabase,
  { within, check }: Range,
  keyset: Keyset,
  budget: number,
) {
  const { where, order, limit } = range([predictions.id], "desc", keyset);
  const rows = db
    .select()
    .from(predictions)
    .where(and(within, where))
    .orderBy(...order)
    .limit(check ? budget : limit)
    // The columns of the check name their table.
    .as("predictions");
  return db.select().from(rows).where(check).limit(limit);
}

/** The last row that may be checked, if there are so many. */
export function selectLastChecked(
  db: AccountDatabase,
  { within }: Range,
  keyset: Keyset,
  budget: number,
) {
  const { where, order } = range([predictions.id], "desc", keyset);
  return db
    .select({ id: predictions.id })
    .from(predictions)
    .where(and(within, where))
    .orderBy(...order)
    .limit(1)
    .offset(budget - 1);
}

export function rangesOf(filter: PredictionFilter): Range[] {
  const { from, before, ending, token, created_by, min_execution_time: least } = filter;
  const ids = and(
    from ? gte(predictions.id, from) : undefined,
    before ? lt(predictions.id, before) : undefined,
  );
  // No index has how ids end. The check costs what others cost for a page that is not full: MAX_CHECKED rows.
  const checks = and(
    ending === undefined
      ? undefined
      : sql`substr(${predictions.id}, ${-ending.length}) = ${ending}`,
    token === undefined ? undefined : eq(predictions.token_name, token),
    created_by === undefined ? undefined : eq(predictions.created_by, created_by),
    least === undefined ? undefined : gte(predictions.execution_time, least),
  );
  return placesOf(filter).map(({ within, check }) => ({
    within: and(within, ids),
    check: and(check, checks),
  }));
}

function placesOf({ statuses, model, models, maker }: PredictionFilter): Range[] {
  // `+` keeps SQLite from the index by status, which would need a sort.
  const ofStatus = among(sql`+${predictions.status}`, statuses);
  // A model's name is not in the index by maker, and a list of ids is few ranges: both are checked.
  if (maker !== undefined) {
    const ofModels = models ? among(sql`${predictions.model_id}`, models) : undefined;
    const meant = model && ("id" in model ? eq(predictions.model_id, model.id) : ofName(model));
    const within = and(few(eq(predictions.maker, maker)), sql`${predictions.maker} <> ''`);
    return [{ within, check: and(meant, ofModels, ofStatus) }];
  }
  if (model && "id" in model) {
    const isAllowed = models?.includes(model.id) ?? true;
    return isAllowed ? [{ within: ofModel(model.id), check: ofStatus }] : [];
  }
  const check = and(model && ofName(model), ofStatus);
  // Rows of other models are never read: how long that takes would tell how many there are.
  if (models) return models.map((id) => ({ within: ofModel(id), check }));
  if (model) return [{ within: undefined, check }];
  return statuses.length > 0 ? statuses.map(ofStatusAlone) : [ALL];
}

const ALL: Range = { within: undefined, check: undefined };

/** A range of the index by status, which has all but `succeeded`; SQLite is to see that. */
const ofStatusAlone = (status: TaskStatus): Range =>
  status === "succeeded"
    ? { within: undefined, check: sql`+${predictions.status} = ${status}` }
    : {
        within: and(few(eq(predictions.status, status)), sql`${predictions.status} <> 'succeeded'`),
        check: undefined,
      };

const ofModel = (id: string) => few(eq(predictions.model_id, id));

const ofName = ({ owner, name }: ModelName) =>
  and(eq(predictions.model_owner, owner), eq(predictions.model_name, name));

/**
 * Tells the planner that the condition is selective. Without statistics SQLite prefers the table itself and
 * reads every row for a rare status.
 */
const few = (condition: SQL) => sql`unlikely(${condition})`;

const among = (value: SQL, wanted: string[]) =>
  wanted.length > 0 ? inArray(value, wanted) : undefined;

export const selectUnfinished = (db: AccountDatabase, limit: number, maker?: string) =>
  db
    .select({ id: predictions.id, object_id: predictions.object_id })
    .from(predictions)
    .where(
      and(
        sql`${predictions.status} IN ('pending', 'started') AND ${predictions.status} <> 'succeeded'`,
        maker === undefined ? undefined : eq(sql`+${predictions.maker}`, maker),
      ),
    )
    .limit(limit);

/** Selects the starts and probes of a deployment's containers that have not ended. */
export const selectStarts = (db: AccountDatabase, deploymentId: string) =>
  db
    .select({ object_id: predictions.object_id, release: predictions.release })
    .from(predictions)
    .where(
      and(
        sql`${predictions.status} IN ('pending', 'started') AND ${predictions.status} <> 'succeeded'`,
        eq(predictions.token_id, WARM_UP.token_id),
        eq(predictions.deployment_id, deploymentId),
      ),
    );

/** Selects rows whose time to be looked at has come, longest due first. */
export const selectDue = (db: AccountDatabase, now: number, limit: number) =>
  db
    .select()
    .from(predictions)
    .where(and(lte(predictions.due_at, now), sql`${predictions.due_at} IS NOT NULL`))
    .orderBy(predictions.due_at)
    .limit(limit);

export const selectNextDue = (db: AccountDatabase) =>
  db
    .select({ due_at: predictions.due_at })
    .from(predictions)
    .where(sql`${predictions.due_at} IS NOT NULL`)
    .orderBy(predictions.due_at)
    .limit(1);

/** The last runs of a model, for figures of its versions. */
export const selectRuns = (db: AccountDatabase, modelId: string, limit: number) =>
  db
    .select({
      version_number: predictions.version_number,
      status: predictions.status,
      execution_time: predictions.execution_time,
    })
    .from(predictions)
    .where(ofModel(modelId))
    .orderBy(desc(predictions.id))
    .limit(limit);

/** The runs of a model among which those of one version are looked for. */
const SEARCHED_RUNS = 1_000;

export interface RunsOfVersion {
  model_id: string;
  version_number: number;
  /** Only what this maker has made. Undefined: any maker. */
  maker: string | undefined;
}

/** Selects the account's last runs of a version that have succeeded, newest first. */
export const selectSucceeded = (
  db: AccountDatabase,
  { model_id, version_number: number, maker: by }: RunsOfVersion,
  limit: number,
) => {
  const { id, version_number, maker, status, execution_time, cost_parts, metrics } = predictions;
  const last = db
    .select({ version_number, maker, status, execution_time, cost_parts, metrics })
    .from(predictions)
    .where(ofModel(model_id))
    .orderBy(desc(id))
    .limit(SEARCHED_RUNS)
    .as("last");
  return db
    .select({
      execution_time: last.execution_time,
      cost_parts: last.cost_parts,
      metrics: last.metrics,
    })
    .from(last)
    .where(
      and(
        eq(last.version_number, number),
        eq(last.status, "succeeded"),
        by === undefined ? undefined : eq(last.maker, by),
      ),
    )
    .limit(limit);
};

/** The runs of the model that are looked at for those of a version. */
const RECENT_RUNS = 200;

/** Returns the costs of the account's last runs of a version. */
export function costsOf(db: AccountDatabase, modelId: string, version: number): number[] {
  const recent = db
    .select({ version_number: predictions.version_number, cost: predictions.cost })
    .from(predictions)
    .where(ofModel(modelId))
    .orderBy(desc(predictions.id))
    .limit(RECENT_RUNS)
    .all();
  return recent
    .flatMap(({ version_number, cost }) =>
      version_number === version && cost !== null ? [cost] : [],
    )
    .slice(0, MAX_RUNS);
}

export type OldRow = Pick<
  PredictionRow,
  "id" | "object_id" | "status" | "updated_at" | "data_removed" | "kept_seconds" | "due_at"
>;

/** The oldest rows, with few columns because an error may have 90 KB. */
export const selectOldest = (db: AccountDatabase, limit: number) =>
  db
    .select({
      id: predictions.id,
      object_id: predictions.object_id,
      status: predictions.status,
      updated_at: predictions.updated_at,
      data_removed: predictions.data_removed,
      kept_seconds: predictions.kept_seconds,
      due_at: predictions.due_at,
    })
    .from(predictions)
    .orderBy(predictions.id)
    .limit(limit);
