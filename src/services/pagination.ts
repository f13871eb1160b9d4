/** One page of a list, with the cursors and URLs of the next and previous page. */
import {
  type CursorKey,
  decodeCursor,
  encodeCursor,
  importCursorKey as importKey,
  type Key,
  type Position,
} from "../domain/cursor.ts";
import { findKey } from "../storage/database.ts";
import type { Keyset } from "../storage/keyset.ts";
import type { Services } from "./services.ts";

export interface PageRequest {
  cursor: string | undefined;
  size: number;
  /** The URL of the request, with its filters. */
  url: string;
}

export interface List<Row, Item> {
  /** Identifies the list and its filters: a cursor is valid only for this name. */
  name: string;
  /** Rows in list order; with `back`, in reverse order. */
  find(keyset: Keyset): Promise<Row[] | Searched<Row>>;
  keyOf(row: Row): Key;
  present(row: Row): Item;
}

/** A page that may be short: the search ended at `reached`, and the next page continues there. */
export interface Searched<Row> {
  rows: Row[];
  reached?: Key;
}

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
  previous_cursor: string | null;
  next_url: string | null;
  previous_url: string | null;
}

/** Returns the whole of a bounded list as one page. */
export const onePage = <Item>(items: Item[]): Page<Item> => ({
  items,
  next_cursor: null,
  previous_cursor: null,
  next_url: null,
  previous_url: null,
});

/** @throws ValidationFailure for a cursor of another list */
export async function paginate<Row, Item>(
  services: Services,
  { cursor, size, url }: PageRequest,
  { name, find, keyOf, present }: List<Row, Item>,
): Promise<Page<Item>> {
  const key = await cursorKey(services);
  const from = cursor === undefined ? undefined : await decodeCursor(key, name, cursor);
  const back = from?.go === "previous";
  // One extra row tells whether there is another page.
  const found = await find({ from, back, limit: size + 1 });
  const { rows: fetched, reached }: Searched<Row> = Array.isArray(found) ? { rows: found } : found;
  const more = reached !== undefined || fetched.length > size;
  const rows = fetched.slice(0, size);
  if (back) rows.reverse();
  const to = (go: Position["go"], row: Row | undefined): Promise<string> | null => {
    const isOnward = back === (go === "previous");
    const last = isOnward && reached ? reached : row && keyOf(row);
    if (last !== undefined) return encodeCursor(key, name, { go, key: last, inclusive: false });
    // If every row of this page was deleted, the neighbour starts where this page did.
    return from ? encodeCursor(key, name, { go, key: from.key, inclusive: true }) : null;
  };
  const [next, previous] = await Promise.all([
    back || more ? to("next", rows.at(-1)) : null,
    (back ? more : from !== undefined) ? to("previous", rows[0]) : null,
  ]);
  return {
    items: rows.map(present),
    next_cursor: next,
    previous_cursor: previous,
    next_url: withCursor(url, next),
    previous_url: withCursor(url, previous),
  };
}

function withCursor(address: string, cursor: string | null): string | null {
  if (cursor === null) return null;
  const url = new URL(address);
  url.searchParams.set("cursor", cursor);
  return url.href;
}

const cursorKeys = new WeakMap<Services, CursorKey>();

/** The deployment's key for cursors, read once per isolate. */
async function cursorKey(services: Services): Promise<CursorKey> {
  const known = cursorKeys.get(services);
  if (known) return known;
  const row = await findKey(services.db, "cursor");
  if (!row) throw new Error("the table `keys` has no row `cursor`: apply the migrations");
  const key = await importKey(row.value);
  cursorKeys.set(services, key);
  return key;
}

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
