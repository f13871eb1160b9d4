/** Opaque cursors: which row a page begins after, in which direction, of which list. */
import { z } from "zod";
import { invalid } from "./validation.ts";

const cursor = z.object({ list: z.string(), go: z.enum(["next", "previous"]), id: z.string() });
export type Cursor = z.infer<typeof cursor>;

export const encodeCursor = (value: Cursor): string =>
  encodeURIComponent(btoa(JSON.stringify(value)));

/**
 * @param list names the list and its filters: a cursor of another one is refused.
 * @throws ValidationFailure
 */
export function decodeCursor(text: string, list: string): Cursor {
  let value: unknown;
  try {
    value = JSON.parse(atob(decodeURIComponent(text)));
  } catch {
    throw invalid(["query", "cursor"], "this is not a cursor of this API", "value_error");
  }
  const parsed = cursor.safeParse(value);
  if (!parsed.success || parsed.data.list !== list) {
    throw invalid(["query", "cursor"], "this cursor belongs to another list or other filters");
  }
  return parsed.data;
}
