/** One page of a list, with the cursors and addresses of its neighbours. */
import {
  type CursorKey,
  decodeCursor,
  encodeCursor,
  importCursorKey as importKey,
  type Key,
  type Position,
} from "../domain/cursor.ts";
import { findKey } from "../storage/keys.ts";
import type { Keyset } from "../storage/keyset.ts";
import type { Services } from "./services.ts";

export interface PageRequest {
  cursor: string | undefined;
  size: number;
  /** The address of the request, with its filters. */
  url: string;
}

export interface List<Row, Item> {
  /** Names the list and its filters: a cursor is good for this name alone. */
  name: string;
  /** Rows in the order of the list; with `back` in the reverse order, nearest first. */
  find(keyset: Keyset): Promise<Row[]>;
  keyOf(row: Row): Key;
  present(row: Row): Item;
}

export interface Page<Item> {
  items: Item[];
  next_cursor: string | null;
  previous_cursor: string | null;
  next_url: string | null;
  previous_url: string | null;
}

/** @throws ValidationFailure for a cursor that is not one of this list */
export async function paginate<Row, Item>(
  services: Services,
  { cursor, size, url }: PageRequest,
  { name, find, keyOf, present }: List<Row, Item>,
): Promise<Page<Item>> {
  const key = await cursorKey(services);
  const from = cursor === undefined ? undefined : await decodeCursor(key, name, cursor);
  const back = from?.go === "previous";
  // One row more than the page has tells whether there is another page.
  const found = await find({ from, back, limit: size + 1 });
  const more = found.length > size;
  const rows = found.slice(0, size);
  if (back) rows.reverse();
  const to = (go: Position["go"], row: Row | undefined): Promise<string> | null => {
    if (row !== undefined)
      return encodeCursor(key, name, { go, key: keyOf(row), inclusive: false });
    // All that was on this page is gone: what is behind it begins with where it began.
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

/** The key that this deployment seals cursors with, read once per isolate. */
async function cursorKey(services: Services): Promise<CursorKey> {
  const known = cursorKeys.get(services);
  if (known) return known;
  const row = await findKey(services.db, "cursor");
  if (!row) throw new Error("the table `keys` has no row `cursor`: apply the migrations");
  const key = await importKey(row.value);
  cursorKeys.set(services, key);
  return key;
}
