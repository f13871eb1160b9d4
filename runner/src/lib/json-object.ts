/** JSON objects among JSON values. */
import type { Json } from "../../../src/protocol/common.ts";

export type JsonObject = { [key: string]: Json };

export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);
