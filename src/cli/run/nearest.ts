/** Which of some names was probably meant by one that is mistyped. */
import { closest, distance } from "fastest-levenshtein";

/** Letters that may be wrong: half of a short name, and three at most. */
const MOST = 3;

/** Undefined if none is near. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const [from, to] = [typed.toLowerCase(), names.map((name) => name.toLowerCase())];
  const found = names[to.indexOf(closest(from, to))];
  if (found === undefined) return undefined;
  const wrong = distance(from, found.toLowerCase());
  return wrong <= Math.min(MOST, Math.min(typed.length, found.length) / 2) ? found : undefined;
}
