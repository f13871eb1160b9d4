/** JSON values. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Returns undefined if the text is no JSON. */
export function parseJson(text: string, parse: (text: string) => unknown = JSON.parse): unknown {
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value is a JSON object, and not a list or null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the same object if no field is null: most pieces of a stream have none. @param kept fields that may be null */
export function withoutNulls<T extends object>(fields: T, kept: readonly string[] = []): T {
  const isLeftOut = ([name, value]: [string, unknown]) => value === null && !kept.includes(name);
  const nulls = Object.entries(fields).filter(isLeftOut);
  if (nulls.length === 0) return fields;
  const rest = { ...fields };
  for (const [name] of nulls) Reflect.deleteProperty(rest, name);
  return rest;
}

/** Returns the path to a number that no double can hold, such as `1e400`, which JSON.parse reads as Infinity. */
export function nonFiniteIn(value: unknown): string[] | undefined {
  if (typeof value === "number") return Number.isFinite(value) ? undefined : [];
  if (typeof value !== "object" || value === null) return undefined;
  if (Array.isArray(value)) {
    for (let n = 0; n < value.length; n++) {
      const found = nonFiniteIn(value[n]);
      if (found) return [String(n), ...found];
    }
    return undefined;
  }
  for (const [name, one] of Object.entries(value)) {
    const found = nonFiniteIn(one);
    if (found) return [name, ...found];
  }
  return undefined;
}

/** The next character that means something inside a string of JSON; the end of the text if there is none. */
export function nextMark(text: string, from: number): number {
  MARK.lastIndex = from;
  return MARK.exec(text)?.index ?? text.length;
}

const MARK = /["\\]/g;

/** Returns the index behind the closing quote of a JSON string. @param from behind its opening quote */
export function stringEnd(text: string, from: number): number {
  let at = nextMark(text, from);
  while (text.charAt(at) === "\\") at = nextMark(text, at + 2);
  return at + 1;
}

/** Valid in strings of JSON, but some readers take them for the end of a line. */
const SEPARATORS = /[\u0085\u2028\u2029]/g;

/** Escapes the line separators in the output of `JSON.stringify`. */
export const withoutSeparators = (json: string): string =>
  json.replace(SEPARATORS, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);
