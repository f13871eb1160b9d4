/** JSON for people to read, in proportion to what it tells however deep that is nested. */
import type { Json } from "../protocol/common.ts";

/** So deep is indented: a line has its depth's worth of spaces, and 8 KB of brackets were 32 MB. */
const INDENTED_LEVELS = 5;

/** So deep is written at all: some thousand levels are more than the platform's stack has room for. */
export const MAX_LEVELS = 200;

/** @param value not deeper than MAX_LEVELS @returns JSON text */
export const readableJson = (value: Json): string =>
  JSON.stringify(value, null, isDeeper(value, INDENTED_LEVELS) ? 0 : 2);

/** Whether more than so many lists and objects lie one in the other. */
export function isDeeper(value: Json, levels: number): boolean {
  let level = [value].filter(isTree);
  for (let depth = 0; depth < levels; depth++)
    level = level.flatMap((one) => Object.values(one).filter(isTree));
  return level.length > 0;
}

const isTree = (value: Json): value is Json[] | { [key: string]: Json } =>
  typeof value === "object" && value !== null;
