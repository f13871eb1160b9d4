/** Folders that import each other: imports point one way. */
import { dirname } from "node:path";
import type { Source } from "./words.ts";

/** Returns the pairs of folders that import each other. */
export function pairs(files: Source[]): [string, string][] {
  const edges = new Set<string>();
  for (const { path, imports } of files)
    for (const to of imports) edges.add(`${dirname(path)} ${dirname(to)}`);
  return [...edges].flatMap((edge): [string, string][] => {
    const [from = "", to = ""] = edge.split(" ");
    return from < to && edges.has(`${to} ${from}`) && !isWithin(from, to) ? [[from, to]] : [];
  });
}

/** A folder and one inside it are one room. */
function isWithin(one: string, other: string): boolean {
  return other.startsWith(`${one}/`) || one.startsWith(`${other}/`);
}
