/** JSON for people to read, whose size stays in proportion to the value. */
import { exactText } from "./exact-json.ts";
import type { Json } from "./json.ts";

/** Deeper values are not indented: 8 KB of nested brackets would become 32 MB. */
const INDENTED_LEVELS = 5;

/** @param value within the depth limit of inputs and outputs */
export const readableJson = (value: Json): string =>
  exactText(value, isDeeper(value, INDENTED_LEVELS) ? 0 : 2);

function isDeeper(value: Json, levels: number): boolean {
  let level = [value].filter(isTree);
  for (let depth = 0; depth < levels; depth++)
    level = level.flatMap((one) => Object.values(one).filter(isTree));
  return level.length > 0;
}

const isTree = (value: Json): value is Json[] | { [key: string]: Json } =>
  typeof value === "object" && value !== null;
