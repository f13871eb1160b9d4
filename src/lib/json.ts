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
