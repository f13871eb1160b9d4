/** Pages by keyset: a range of an index from where the last page ended, however deep that is. */
import { asc, desc, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Key } from "../domain/cursor.ts";

export type Direction = "asc" | "desc";

/** The rows that a page wants. */
export interface Keyset {
  /** Where it begins: undefined at the beginning of the list. */
  from: { key: Key; inclusive: boolean } | undefined;
  /** Against the order of the list: the rows before `from`, nearest first. */
  back: boolean;
  limit: number;
}

/** Whether the rows come in ascending order. */
export const ascends = (direction: Direction, { back }: Keyset) => (direction === "asc") !== back;

/**
 * @param columns what the list is sorted by, the last of them unique: the columns of an index.
 * @returns undefined as `where` for the beginning of the list
 */
export function range(
  columns: SQLiteColumn[],
  direction: Direction,
  keyset: Keyset,
): { where: SQL | undefined; order: SQL[]; limit: number } {
  const ascending = ascends(direction, keyset);
  return {
    where: keyset.from && beyond(columns, ascending, keyset.from),
    order: columns.map(ascending ? asc : desc),
    limit: keyset.limit,
  };
}

function beyond(
  columns: SQLiteColumn[],
  ascending: boolean,
  { key, inclusive }: NonNullable<Keyset["from"]>,
): SQL {
  const operator = sql.raw(`${ascending ? ">" : "<"}${inclusive ? "=" : ""}`);
  const list = (parts: (SQLiteColumn | SQL)[]) => sql.join(parts, sql`, `);
  // A row value of one is not a row value.
  if (columns.length === 1) return sql`${list(columns)} ${operator} ${key[0]}`;
  return sql`(${list(columns)}) ${operator} (${list(key.map((value) => sql`${value}`))})`;
}
