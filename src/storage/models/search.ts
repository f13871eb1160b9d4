/** Full-text search: ranges of the indexes in migrations/0000_baseline.sql. */
import { eq, getTableColumns, type SQL, sql } from "drizzle-orm";
import { TIERS } from "../../domain/search.ts";
import { allOf, type Database } from "../database.ts";
import type { Keyset } from "../keyset.ts";
import { modelCounts, models, users } from "../schema/index.ts";
import { modelItem } from "./models.ts";

/** Of what full-text index. */
export type Index = "models_words" | "users_words";

/** How far what matches the next expression ranks behind what matches this one. */
const STEP = TIERS * 2 ** 40;

/** In a rowid, which is tier << 40 less seq, the part that is seq. */
const seq = sql`-rowid & 0xFFFFFFFFFF`;

/** FTS5 takes a range from integers only; D1 binds every number as a float. */
const integer = (value: number) => sql`CAST(${value} AS INTEGER)`;

/** How many match, counted up to a limit. */
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
 * Of the words that everybody may find, and those of a user's private models, the ones that match,
 * for each expression: of both the first thousand, which have been there longest, so that the common
 * ones are among them and new ones displace none.
 * @param userId undefined: of somebody who has none
 */
export async function findWords(
  db: Database,
  expressions: string[],
  userId: string | undefined,
): Promise<string[][]> {
  const owners = [EVERYBODY, ...(userId === undefined ? [] : [seqOf(userId)])];
  const lists = await allOf(
    db,
    expressions.flatMap((expression) => owners.map((owner) => wordsLike(db, expression, owner))),
  );
  const words = lists.map((rows) => rows.map(({ word }) => word));
  return expressions.map((_, n) => [
    ...new Set(words.slice(n * owners.length, (n + 1) * owners.length).flat()),
  ]);
}

/** The owner of words that are public. */
const EVERYBODY = sql`0`;

const seqOf = (userId: string) => sql`(SELECT seq FROM users WHERE id = ${userId})`;

/** An owner's words are one range of ids: those of others are not even looked at. */
const wordsLike = (db: Database, expression: string, owner: SQL) =>
  db.select({ word: sql<string>`word` }).from(sql`(
    SELECT rowid AS id FROM words_trigrams WHERE words_trigrams MATCH ${expression}
      AND rowid BETWEEN ${owner} << 40 AND (${owner} + 1 << 40) - 1
    ORDER BY rowid LIMIT 1000) CROSS JOIN words USING (id)`);

/**
 * Ranked: what matches the first expression, then what matches the next.
 * @param expressions each matches all that the one before it does
 */
export const searchModels = (db: Database, expressions: string[], keyset: Keyset) =>
  db
    .select({ rank, ...modelItem })
    .from(found("models_words", expressions, keyset))
    .crossJoin(models)
    .innerJoin(users, eq(users.id, models.owner_id))
    .innerJoin(modelCounts, eq(modelCounts.model_id, models.id))
    .where(sql`${models.seq} = found.seq`)
    .all();

/** As `searchModels`. */
export const searchUsers = (db: Database, expressions: string[], keyset: Keyset) =>
  db
    .select({ rank, ...getTableColumns(users) })
    .from(found("users_words", expressions, keyset))
    .crossJoin(users)
    .where(sql`${users.seq} = found.seq`)
    .all();

const rank = sql<number>`found.rank`;

/** UNION ALL with a LIMIT reads of each part only what those before it have left to do. */
function found(index: Index, expressions: string[], keyset: Keyset): SQL {
  const parts = expressions.map((expression, level) =>
    part(index, { expression, better: expressions[level - 1], level }, keyset),
  );
  if (keyset.back) parts.reverse();
  return sql`(${sql.join(parts, sql` UNION ALL `)} LIMIT ${keyset.limit}) AS found`;
}

interface Part {
  expression: string;
  /** What matches this has been found by the part before. */
  better: string | undefined;
  level: number;
}

function part(
  index: Index,
  { expression, better, level }: Part,
  { from, back, limit }: Keyset,
): SQL {
  const table = sql.identifier(index);
  const conditions = [sql`${table} MATCH ${expression}`];
  if (better !== undefined)
    conditions.push(
      sql`${seq} NOT IN (SELECT ${seq} FROM ${table} WHERE ${table} MATCH ${better})`,
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
