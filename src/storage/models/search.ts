/** Full-text search: ranges of the indexes in migrations/0000_baseline.sql. */
import { eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { TIERS } from "../../domain/search.ts";
import { isCurrent } from "../accounts/current-members.ts";
import { isSeenBy } from "../accounts/visible-models.ts";
import { type Database, runBatch } from "../database.ts";
import type { Keyset } from "../keyset.ts";
import { collaborators, members, modelCounts, models, users } from "../schema/index.ts";
import { modelItem } from "./models.ts";

/** A full-text index. */
export type Index = "models_words" | "users_words";

/** How far matches of the next expression rank behind those of this one. */
const STEP = TIERS * 2 ** 40;

/** The seq in a rowid, which is tier << 40 minus seq. */
const seq = sql`-rowid & 0xFFFFFFFFFF`;

/** FTS5 accepts only integers in a range, and D1 binds every number as a float. */
const integer = (value: number) => sql`CAST(${value} AS INTEGER)`;

/** The number of matches, up to a limit. */
export async function countMatches(
  db: Database,
  index: Index,
  expression: string,
  limit: number,
): Promise<number> {
  const matches = sql`(SELECT 1 FROM ${sql.identifier(index)}
    WHERE ${sql.identifier(index)} MATCH ${expression} LIMIT ${limit})`;
  const row = await db.select({ count: sql<number>`count(*)` }).from(matches).get();
  return row?.count ?? 0;
}

/**
 * Finds for each expression the matching words of the public vocabulary and of the user's private models. Of
 * each it finds the oldest thousand, so that common words are included and new ones displace none.
 */
export async function findWords(
  db: Database,
  expressions: string[],
  userId: string | undefined,
): Promise<string[][]> {
  const owners = [EVERYBODY, ...(userId === undefined ? [] : [seqOf(userId)])];
  const lists = await runBatch(
    db,
    expressions.flatMap((expression) => owners.map((owner) => wordsLike(db, expression, owner))),
  );
  const words = lists.map((rows) => rows.map(({ word }) => word));
  return expressions.map((_, n) => [
    ...new Set(words.slice(n * owners.length, (n + 1) * owners.length).flat()),
  ]);
}

/** The owner of the public vocabulary. */
const EVERYBODY = sql`0`;

const seqOf = (userId: string) => sql`(SELECT seq FROM users WHERE id = ${userId})`;

/** An owner's words are one range of ids, so the query reads no others. */
const wordsLike = (db: Database, expression: string, owner: SQL) =>
  db.select({ word: sql<string>`word` }).from(sql`(
    SELECT rowid AS id FROM words_trigrams WHERE words_trigrams MATCH ${expression}
      AND rowid BETWEEN ${owner} << 40 AND (${owner} + 1 << 40) - 1
    ORDER BY rowid LIMIT 1000) CROSS JOIN words USING (id)`);

/**
 * Finds models: matches of the first expression, then those of the next.
 * @param expressions each also matches everything that the previous one matches
 */
export const searchModels = (
  db: Database,
  expressions: string[],
  keyset: Keyset,
  limits: ModelLimits,
) =>
  db
    .select({ rank, ...modelItem })
    .from(found("models_words", expressions, keyset, limits))
    .crossJoin(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .innerJoin(modelCounts, eq(modelCounts.model_id, models.id))
    .where(sql`${models.seq} = found.seq`)
    .all();

/** How many shared models of an account are looked at. An owner can share a thousand. */
const MAX_SHARED = 10_000;

/**
 * Lists the organizations of an account, and others that have shared models with it.
 * @param limit of accounts
 */
export const listSharingOwners = async (
  db: Database,
  accountId: string,
  limit: number,
): Promise<string[]> => {
  const rows = await db.all<{ owner_id: string }>(sql`
    SELECT organization_id AS owner_id FROM ${members}
      WHERE user_id = ${accountId} AND ${isCurrent()}
    UNION ALL SELECT DISTINCT owner_id FROM
      (SELECT model_id FROM ${collaborators} WHERE account_id = ${accountId} LIMIT ${MAX_SHARED})
      JOIN ${models} ON ${models.id} = model_id
    LIMIT ${limit}`);
  return [...new Set(rows.map(({ owner_id }) => owner_id))];
};

export const searchUsers = (db: Database, expressions: string[], keyset: Keyset) =>
  db
    .select({ rank, ...getTableColumns(users) })
    .from(found("users_words", expressions, keyset))
    .crossJoin(users)
    .where(sql`${users.seq} = found.seq`)
    .all();

const rank = sql<number>`found.rank`;

/**
 * Finds matches with UNION ALL and a LIMIT, which reads a part only as far as the previous ones left the page
 * unfilled.
 */
function found(
  index: Index,
  expressions: string[],
  keyset: Keyset,
  limits: ModelLimits = { hidden: [], viewerId: undefined },
): SQL {
  const parts = expressions.map((expression, level) =>
    part(index, { expression, better: expressions[level - 1], level, ...limits }, keyset),
  );
  if (keyset.back) parts.reverse();
  return sql`(${sql.join(parts, sql` UNION ALL `)} LIMIT ${keyset.limit}) AS found`;
}

interface ModelLimits {
  /** Models that are left out. */
  hidden: readonly string[];
  /** The account that must see the models. Undefined: the expression has only such as it sees. */
  viewerId: string | undefined;
}

interface Part extends ModelLimits {
  expression: string;
  /** The previous part's expression, whose matches are already found. */
  better: string | undefined;
  level: number;
}

function part(
  index: Index,
  { expression, better, level, hidden, viewerId }: Part,
  { from, back, limit }: Keyset,
): SQL {
  const table = sql.identifier(index);
  const conditions = [sql`${table} MATCH ${expression}`];
  if (better !== undefined)
    conditions.push(
      sql`${seq} NOT IN (SELECT ${seq} FROM ${table} WHERE ${table} MATCH ${better})`,
    );
  if (hidden.length > 0)
    conditions.push(
      sql`${seq} NOT IN (SELECT models.seq FROM models JOIN json_each(${JSON.stringify(hidden)})
        ON models.id = json_each.value)`,
    );
  if (viewerId !== undefined)
    conditions.push(
      sql`EXISTS (SELECT 1 FROM ${models} WHERE ${models.seq} = -${table}.rowid & 0xFFFFFFFFFF
        AND ${isSeenBy(viewerId)})`,
    );
  if (from) {
    const rowid = Number(from.key[0]) - level * STEP;
    const step = from.inclusive ? 0 : 1;
    conditions.push(
      back ? sql`rowid <= ${integer(rowid - step)}` : sql`rowid >= ${integer(rowid + step)}`,
    );
  }
  return sql`SELECT * FROM (
    SELECT rowid + ${level * STEP} AS rank, ${seq} AS seq
    FROM ${table} WHERE ${sql.join(conditions, sql` AND `)}
    ORDER BY rowid ${sql.raw(back ? "DESC" : "ASC")} LIMIT ${limit})`;
}
