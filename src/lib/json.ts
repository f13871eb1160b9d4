/** JSON values. */
export type Json = string | number | boolean | null | Json[] | { [name: string]: Json };

/** Whether a value is a JSON object, and not a list or null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
