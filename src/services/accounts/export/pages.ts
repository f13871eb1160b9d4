/** Reads a list to its end. */
import type { Key } from "../../../domain/cursor.ts";
import type { Keyset } from "../../../storage/keyset.ts";

/** All pages, one in memory at a time. */
export async function* pagesOf<Row>(
  limit: number,
  find: (keyset: Keyset) => Promise<Row[]>,
  keyOf: (row: Row) => Key,
  start?: Keyset["from"],
): AsyncGenerator<Row[]> {
  let from = start;
  for (;;) {
    const rows = await find({ from, back: false, limit });
    yield rows;
    const last = rows.at(-1);
    if (!last || rows.length < limit) return;
    from = { key: keyOf(last), inclusive: false };
  }
}
