/** The usage of an account: what its predictions that have ended add up to. */
import { and, between, desc, eq, sql } from "drizzle-orm";
import type { AnySQLiteColumn } from "drizzle-orm/sqlite-core";
import {
  type GroupedUsage,
  type ReleaseSelection,
  type ReleaseUsage,
  SUMS,
  USAGE_KEY,
  type UsageCount,
  type UsageDays,
  type UsageSelection,
  WARM_UP,
} from "../../domain/accounts/usage.ts";
import { measuresIn, summed } from "../../domain/metrics/measures.ts";
import { quantitiesIn } from "../../domain/money/quantities.ts";
import type { PredictionUpdate } from "../../domain/predictions/prediction-row.ts";
import type { UsageGroup } from "../../protocol/usage.ts";
import { type Keyset, range } from "../../storage/keyset.ts";
import type { AccountDatabase } from "./prediction-lists.ts";
import { usage } from "./tables.ts";

const COLUMNS = [...USAGE_KEY, "model", "token", "member", "deployment", ...SUMS, "measures"];

const ADD = `INSERT INTO usage (${COLUMNS}) VALUES (${COLUMNS.map(() => "?")})
  ON CONFLICT (${USAGE_KEY}) DO UPDATE SET model = excluded.model, token = excluded.token, member = excluded.member,
  deployment = excluded.deployment, measures = excluded.measures, ${SUMS.map((name) => `${name} = ${name} + excluded.${name}`)}`;

const MEASURES = `SELECT measures FROM usage WHERE ${USAGE_KEY.map((name) => `${name} = ?`).join(" AND ")}`;

/** The columns of a row that usage counts. */
export type EndedRow = Pick<
  PredictionUpdate,
  | "updated_at"
  | "model_id"
  | "model_owner"
  | "model_name"
  | "version_number"
  | "token_id"
  | "token_name"
  | "maker"
  | "created_by"
  | "hardware"
  | "deployment_id"
  | "deployment"
  | "release"
  | "status"
  | "setup_time"
  | "execution_time"
  | "metrics"
  | "cost"
  | "measures"
>;

/**
 * Adds a prediction that has ended, in one row.
 * @param sign -1 takes it back, from the sums and not from the measures, which only rise
 */
export function addUsage(sqlStorage: SqlStorage, day: string, row: EndedRow, sign: 1 | -1): void {
  const { uncached, cached, output, images } = quantitiesIn(row.metrics);
  const counts: UsageCount = {
    predictions: 1,
    failed: Number(row.status === "failed"),
    execution_ms: msOf(row.execution_time),
    setup_ms: msOf(row.setup_time),
    input_tokens: uncached + cached,
    output_tokens: output,
    cached_tokens: cached,
    images,
    cost: row.cost ?? 0,
  };
  const place = { ...row, day, deployment_id: row.deployment_id ?? "", release: row.release ?? 0 };
  const key = USAGE_KEY.map((name) => place[name]);
  const [before] = sqlStorage.exec<{ measures: string }>(MEASURES, ...key).toArray();
  const measures = summed(
    measuresIn(before?.measures ?? "{}"),
    sign === 1 ? (row.measures ?? {}) : {},
  );
  sqlStorage.exec(
    ADD,
    ...key,
    ...[`${row.model_owner}/${row.model_name}`, row.token_name],
    ...[row.created_by ?? "", row.deployment ?? ""],
    ...SUMS.map((name) => sign * counts[name]),
    JSON.stringify(measures),
  );
}

const msOf = (seconds: number | null) => Math.round((seconds ?? 0) * 1_000);

/** total() is exact up to this, and does not fail beyond it as sum() does. */
const sumOf = (name: string) => `min(total(${name}), ${Number.MAX_SAFE_INTEGER}) AS ${name}`;
const ALL_SUMS = SUMS.map(sumOf).join(", ");

/** The expression of each group, and its columns in the result. */
const GROUPS: Record<UsageGroup, { by: string; columns: string[] }> = {
  day: { by: "day", columns: ["day"] },
  month: { by: "substr(day, 1, 7)", columns: ["substr(day, 1, 7) AS month"] },
  model: { by: "model_id", columns: ["model_id", "model"] },
  version: { by: "model_id, version_number", columns: ["model_id", "model", "version_number"] },
  member: { by: "maker", columns: ["maker", "member"] },
  token: { by: "token_id", columns: ["token_id", "token"] },
  hardware: { by: "hardware", columns: ["hardware"] },
};

/** Oldest first, those that cost most before others, or without prices those with most predictions. */
export function selectGroups(
  sqlStorage: SqlStorage,
  { from, to, groups, maker, limit }: UsageSelection,
): GroupedUsage[] {
  const by = groups.map((group) => GROUPS[group].by);
  const columns = [...new Set(groups.flatMap((group) => GROUPS[group].columns))];
  const times = groups
    .filter((group) => group === "day" || group === "month")
    .map((group) => GROUPS[group].by);
  // SQLite takes the other columns from the row with the max(): the latest names.
  const statement = `SELECT ${[...columns, ALL_SUMS, "max(day) AS last_day"]} FROM usage
    WHERE day BETWEEN ? AND ? ${maker === undefined ? "" : "AND maker = ?"}
    ${by.length > 0 ? `GROUP BY ${by}` : ""}
    ORDER BY ${[...times, "total(cost) DESC", "total(predictions) DESC", ...by]} LIMIT ?`;
  const values = [from, to, ...(maker === undefined ? [] : [maker]), limit];
  return sqlStorage
    .exec<GroupedUsage & Record<string, SqlStorageValue>>(statement, ...values)
    .toArray();
}

/** The sums of releases, and then their measures. */
export function releaseStatements({ from, deployment_id, first, last, maker }: ReleaseSelection) {
  const where = `WHERE day >= ? AND deployment_id = ? AND release BETWEEN ? AND ? AND token_id <> ?
    ${maker === undefined ? "" : "AND maker = ?"}`;
  const ofMaker = maker === undefined ? [] : [maker];
  const values = [from, deployment_id, first, last, WARM_UP.token_id, ...ofMaker];
  const sums = ["predictions", "failed", "cost"].map(sumOf);
  return {
    sums: `SELECT release, ${sums} FROM usage ${where} GROUP BY release`,
    measures: `SELECT release, one.key AS name, total(one.value) AS value
      FROM usage, json_each(measures) AS one ${where} GROUP BY release, one.key`,
    values,
  };
}

/** Returns the usage of those releases that have any. */
export function selectReleases(
  sqlStorage: SqlStorage,
  selection: ReleaseSelection,
): ReleaseUsage[] {
  const { sums, measures, values } = releaseStatements(selection);
  const named = Map.groupBy(
    sqlStorage.exec<{ release: number; name: string; value: number }>(measures, ...values),
    ({ release }) => release,
  );
  return sqlStorage
    .exec<Omit<ReleaseUsage, "measures">>(sums, ...values)
    .toArray()
    .map((row) => ({
      ...row,
      measures: Object.fromEntries(
        (named.get(row.release) ?? []).map(({ name, value }) => [name, value]),
      ),
    }));
}

const sum = (column: AnySQLiteColumn) =>
  sql<number>`min(total(${column}), ${Number.MAX_SAFE_INTEGER})`;

const sums = {
  predictions: sum(usage.predictions),
  failed: sum(usage.failed),
  execution_ms: sum(usage.execution_ms),
  setup_ms: sum(usage.setup_ms),
  input_tokens: sum(usage.input_tokens),
  output_tokens: sum(usage.output_tokens),
  cached_tokens: sum(usage.cached_tokens),
  images: sum(usage.images),
  cost: sum(usage.cost),
} satisfies Record<keyof UsageCount, unknown>;

const within = ({ from, to, maker }: UsageDays) =>
  and(between(usage.day, from, to), maker === undefined ? undefined : eq(usage.maker, maker));

/** The models that have run most on these days. */
export const selectMostUsed = (db: AccountDatabase, days: UsageDays, limit: number) =>
  db
    // SQLite takes the other columns from the row with the max(): the latest name.
    .select({ model_id: usage.model_id, model: usage.model, last: sql`max(${usage.day})` })
    .from(usage)
    .where(within(days))
    .groupBy(usage.model_id)
    .orderBy(desc(sums.predictions), usage.model_id)
    .limit(limit);

/** Usage by day: the named models each, all others together under the id ''. */
export function selectUsage(db: AccountDatabase, days: UsageDays, named: string[]) {
  // The names are one parameter: SQLite takes 100, and the expression stands twice in the statement.
  const isNamed = sql`${usage.model_id} IN (SELECT value FROM json_each(${JSON.stringify(named)}))`;
  const model_id = sql<string>`iif(${isNamed}, ${usage.model_id}, '')`;
  return db
    .select({ day: usage.day, model_id, ...sums })
    .from(usage)
    .where(within(days))
    .groupBy(usage.day, model_id);
}

/** Returns usage by day and model, with the names of the most used. */
export function usageByModel(db: AccountDatabase, days: UsageDays, named: number) {
  const models = selectMostUsed(db, days, named).all();
  const ids = models.map(({ model_id }) => model_id);
  return { models, rows: selectUsage(db, days, ids).all() };
}

export function selectUsagePage(db: AccountDatabase, keyset: Keyset) {
  const key = USAGE_KEY.map((name) => usage[name]);
  const { where, order, limit } = range(key, "asc", keyset);
  return db
    .select()
    .from(usage)
    .where(where)
    .orderBy(...order)
    .limit(limit);
}
