/** JSON values with children: objects and arrays. */
import { numberIn } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";

export type Branch = Json[] | { [key: string]: Json };
export type Entry = [key: string, value: Json];

export const isBranch = (value: Json): value is Branch =>
  typeof value === "object" && value !== null;

/** The class of a value that is no branch. */
export function leafType(value: Json): string {
  if (value === null) return "null";
  return numberIn(value) === undefined ? typeof value : "number";
}

export function sizeText(branch: Branch): string {
  const { length } = Array.isArray(branch) ? branch : Object.keys(branch);
  const noun = Array.isArray(branch) ? "item" : "field";
  return `${length} ${noun}${length === 1 ? "" : "s"}`;
}

/** Entries shown at once: an embedding has thousands. */
const PAGE = 100;

/** Splits off the entries that are shown on request. */
export const paginated = (entries: Entry[]): { first: Entry[]; rest: Entry[] } => ({
  first: entries.slice(0, PAGE),
  rest: entries.slice(PAGE),
});
