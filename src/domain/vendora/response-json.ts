/** Reads untrusted JSON: a value of another type than expected is read as empty. */
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";

export type Fields = { [name: string]: Json };

export const isFields = (value: unknown): value is Fields => isObject(value);

export const fieldsOf = (value: unknown): Fields => (isFields(value) ? value : {});
export const listOf = (value: unknown): Json[] => (Array.isArray(value) ? value : []);
export const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
export const countOf = (value: unknown): number =>
  typeof value === "number" && Number.isSafeInteger(value) && value >= 0 ? value : 0;
