/** JSON for people to read, whose length stays in proportion to its content however deeply it is nested. */
import type { Json } from "./json.ts";

/** Deeper values are not indented: each line starts with its depth in spaces, which made 32 MB of 8 KB of brackets. */
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
