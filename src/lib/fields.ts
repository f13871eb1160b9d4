/** Reads untrusted JSON: a value of another type than expected is read as empty. */

import { numberIn } from "./exact-json.ts";
import { isObject, type Json } from "./json.ts";

export type Fields = { [name: string]: Json };

export const isFields = (value: unknown): value is Fields => isObject(value);

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
export const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
export function countOf(value: unknown): number {
  const count = numberIn(value);
  return count !== undefined && Number.isSafeInteger(count) && count >= 0 ? count : 0;
}
