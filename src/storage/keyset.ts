/** Keyset pagination: a page is a range of an index, so deep pages cost no more than the first. */
import { asc, desc, type SQL, sql } from "drizzle-orm";
import type { SQLiteColumn } from "drizzle-orm/sqlite-core";
import type { Key } from "../domain/cursor.ts";

export type Direction = "asc" | "desc";

export interface Keyset {
  /** The key where the page starts. Undefined: at the start of the list. */
  from: { key: Key; inclusive: boolean } | undefined;
  /** Reads backwards: the rows before `from`, nearest first. */
  back: boolean;
  limit: number;
}

/** Whether the rows come in ascending order. */
export const ascends = (direction: Direction, { back }: Keyset) => (direction === "asc") !== back;

/**
 * @param columns the sort columns, which an index has; the last one is unique
 * @returns `where` is undefined at the start of the list
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
  // SQLite has no row values of one column.
  if (columns.length === 1) return sql`${list(columns)} ${operator} ${key[0]}`;
  return sql`(${list(columns)}) ${operator} (${list(key.map((value) => sql`${value}`))})`;
}
