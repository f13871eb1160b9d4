/** Strings of an input that are named by their paths. */
import type { Json } from "../../protocol/common.ts";
import type { JsonPath } from "./input-files.ts";

/** Returns a copy with the text at the path; everything off the path is shared. */
export function replaceText<T extends Json>(input: T, place: JsonPath, text: string): T;
export function replaceText(input: Json, [step, ...rest]: JsonPath, text: string): Json {
  if (step === undefined) return text;
  const child = replaceText(getChild(input, step) ?? null, rest, text);
  if (Array.isArray(input)) return input.with(Number(step), child);
  return typeof input === "object" ? { ...input, [step]: child } : input;
}

/** Returns a child. Only own properties count, since a name may be that of an inherited one. */
export function getChild(value: Json | undefined, step: string | number): Json | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  return Array.isArray(value) ? value[Number(step)] : value[step];
}
