/** JSON values with children: objects and arrays. */
import { numberIn } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";

export type Branch = Json[] | { [key: string]: Json };
export type Entry = [key: string, value: Json];

export const isBranch = (value: Json): value is Branch =>
  typeof value === "object" && value !== null;

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

export const paginated = (entries: Entry[]): { first: Entry[]; rest: Entry[] } => ({
  first: entries.slice(0, PAGE),
  rest: entries.slice(PAGE),
});

/** Entries of a tree that are written out, below its first level. */
const MAX_ENTRIES = 300;
/** Levels of a tree that are written out; deeper ones cost too much markup. */
const MAX_LEVELS = 6;

/** Small parts first come first served: without client code they unfold, too. */
export function writtenOut(root: Branch): Set<Branch> {
  const written = new Set<Branch>();
  let left = MAX_ENTRIES;
  for (const part of Object.values(root)) {
    const size = isBranch(part) ? sizeOf(part, left, 1) : 0;
    if (!isBranch(part) || size > left) continue;
    left -= size;
    add(part, written);
  }
  return written;
}

/** @returns more than `most` when it is larger, or too deep */
function sizeOf(part: Branch, most: number, level: number): number {
  const values = Object.values(part);
  let size = 1 + values.length;
  if (level > MAX_LEVELS) return most + 1;
  for (const value of values) {
    if (size > most) return size;
    if (isBranch(value)) size += sizeOf(value, most - size, level + 1);
  }
  return size;
}

function add(part: Branch, written: Set<Branch>): void {
  written.add(part);
  for (const value of Object.values(part)) if (isBranch(value)) add(value, written);
}
