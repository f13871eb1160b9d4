/** JSON values. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Whether a value is a JSON object, and not a list or null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** The same object if no field is null: most pieces of a stream have none. @param kept fields that may be null */
export function withoutNulls<T extends object>(fields: T, kept: readonly string[] = []): T {
  const isLeftOut = ([name, value]: [string, unknown]) => value === null && !kept.includes(name);
  const nulls = Object.entries(fields).filter(isLeftOut);
  if (nulls.length === 0) return fields;
  const rest = { ...fields };
  for (const [name] of nulls) Reflect.deleteProperty(rest, name);
  return rest;
}

/** Where a number is that no double can hold, as in `1e400`, which JSON.parse makes Infinity. */
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
