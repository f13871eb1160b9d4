/** Differences between the inputs of two runs. */
import { isObject } from "../../../lib/json.ts";
import type { Json } from "../../../protocol/common.ts";

export interface Difference {
  name: string;
  /** Undefined where a run has no such field. */
  a: Json | undefined;
  b: Json | undefined;
  isSame: boolean;
}

/** Returns the fields in the order of the first input, those that differ first. */
export function differences(a: Json | undefined, b: Json | undefined): Difference[] {
  const [one, other] = [a, b].map((input) =>
    isObject(input) ? new Map(Object.entries(input)) : new Map<string, Json>(),
  );
  const names = new Set([...(one?.keys() ?? []), ...(other?.keys() ?? [])]);
  const all = [...names].map((name): Difference => {
    const [x, y] = [one?.get(name), other?.get(name)];
    return { name, a: x, b: y, isSame: isEqual(x, y) };
  });
  return [...all.filter(({ isSame }) => !isSame), ...all.filter(({ isSame }) => isSame)];
}

/** The order of an object's fields does not matter. */
function isEqual(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a) && Array.isArray(b))
    return a.length === b.length && a.every((one, n) => isEqual(one, b[n]));
  if (isObject(a) && isObject(b)) {
    const names = Object.keys(a);
    return (
      names.length === Object.keys(b).length &&
      names.every((name) => Object.hasOwn(b, name) && isEqual(a[name], b[name]))
    );
  }
  return a === b;
}

/** A text in three: only the middle differs from the other. */
export type MarkedText = [before: string, changed: string, after: string];

/** Marks whole words: half a marked word is hard to read. */
export function markedTexts(a: string, b: string): [MarkedText, MarkedText] {
  const [x, y] = [a, b].map((text) => text.match(/\s+|[^\s]+/g) ?? []);
  if (!x || !y)
    return [
      ["", a, ""],
      ["", b, ""],
    ];
  const shorter = Math.min(x.length, y.length);
  let start = 0;
  while (start < shorter && x[start] === y[start]) start++;
  let end = 0;
  while (end < shorter - start && x.at(-1 - end) === y.at(-1 - end)) end++;
  return [partsOf(x, start, end), partsOf(y, start, end)];
}

const partsOf = (words: string[], start: number, end: number): MarkedText => [
  words.slice(0, start).join(""),
  words.slice(start, words.length - end).join(""),
  words.slice(words.length - end).join(""),
];
