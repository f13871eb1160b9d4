/** Merges sorted lists. */
import type { Key } from "./cursor.ts";

export interface Order<Row> {
  keyOf: (row: Row) => Key;
  ascending: boolean;
}

/** Rows in several lists appear once. @param lists each in this order */
export function mergeSorted<Row>(
  lists: Row[][],
  { keyOf, ascending }: Order<Row>,
  limit: number,
): Row[] {
  const [only] = lists;
  if (only && lists.length === 1) return only.slice(0, limit);
  const sign = ascending ? 1 : -1;
  const sorted = lists.flat().sort((a, b) => sign * compare(keyOf(a), keyOf(b)));
  return sorted
    .filter((row, n) => {
      const before = sorted[n - 1];
      return before === undefined || compare(keyOf(before), keyOf(row)) !== 0;
    })
    .slice(0, limit);
}

/** Compares like SQLite's row values: by the first pair that differs. */
export function compare(a: Key, b: Key): number {
  for (const [n, left] of a.entries()) {
    const right = b[n];
    if (right === undefined || left === right) continue;
    return left < right ? -1 : 1;
  }
  return 0;
}
