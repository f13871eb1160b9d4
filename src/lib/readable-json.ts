/** JSON for people to read, in proportion to what it tells however deep that is nested. */
import type { Json } from "../protocol/common.ts";

/** So deep is indented: a line has its depth's worth of spaces, and 8 KB of brackets were 32 MB. */
const INDENTED_LEVELS = 5;

/** @param value no deeper than inputs and outputs are @returns JSON text */
export const readableJson = (value: Json): string =>
  JSON.stringify(value, null, isDeeper(value, INDENTED_LEVELS) ? 0 : 2);

/** Whether more than so many lists and objects lie one in the other. */
function isDeeper(value: Json, levels: number): boolean {
  let level = [value].filter(isTree);
  for (let depth = 0; depth < levels; depth++)
    level = level.flatMap((one) => Object.values(one).filter(isTree));
  return level.length > 0;
}

const isTree = (value: Json): value is Json[] | { [key: string]: Json } =>
  typeof value === "object" && value !== null;
