/** One page of a keyset list, with the cursors and addresses of its neighbours. */
import { type Cursor, decodeCursor, encodeCursor } from "../domain/cursor.ts";

export interface PageRequest {
  /** Names the list and its filters. */
  list: string;
  cursor: string | undefined;
  size: number;
  /** The address of the request, with its filters. */
  url: string;
}

export interface Keyset {
  /** Rows after this id in the order of the list, or before it. */
  after?: string;
  before?: string;
  limit: number;
}

/**
 * @param find rows in the order of the list; with `before` in the reverse order, nearest first.
 * @throws ValidationFailure for a cursor that is not one of this list
 */
export async function page<Row extends { id: string }, Item>(
  request: PageRequest,
  find: (keyset: Keyset) => Promise<Row[]>,
  present: (row: Row) => Item,
) {
  const { list, size } = request;
  const cursor = request.cursor === undefined ? undefined : decodeCursor(request.cursor, list);
  const back = cursor?.go === "previous";
  const limit = size + 1;
  const found = await find(
    back ? { before: cursor.id, limit } : { ...(cursor && { after: cursor.id }), limit },
  );
  const more = found.length > size;
  const rows = found.slice(0, size);
  if (back) rows.reverse();
  const to = (go: Cursor["go"], row: Row | undefined) =>
    row ? encodeCursor({ list, go, id: row.id }) : null;
  const next = back || more ? to("next", rows.at(-1)) : null;
  const previous = (back ? more : cursor !== undefined) ? to("previous", rows[0]) : null;
  return {
    items: rows.map(present),
    next_cursor: next,
    previous_cursor: previous,
    next_url: withCursor(request.url, next),
    previous_url: withCursor(request.url, previous),
  };
}

function withCursor(address: string, cursor: string | null): string | null {
  if (cursor === null) return null;
  const url = new URL(address);
  url.searchParams.set("cursor", cursor);
  return url.href;
}
