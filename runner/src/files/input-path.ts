/** Paths into an input, as a job names them. */
import type { Json } from "../../../src/protocol/common.ts";
import type { InputFile } from "../../../src/protocol/runner.ts";
import { internal } from "../containers/failure.ts";

export type InputPath = InputFile["at"];

/** As a caller would write it: input.images[0]. */
export function describePath(place: InputPath): string {
  const steps = place.map((step) => {
    if (typeof step === "number") return `[${step}]`;
    return /^[A-Za-z_]\w{0,99}$/.test(step)
      ? `.${step}`
      : `[${JSON.stringify(step.slice(0, 100))}]`;
  });
  return `input${steps.join("")}`.slice(0, 500);
}

/** @throws Failure if there is no text at the path */
export function textAt(input: Json, place: InputPath): string {
  let value: Json | undefined = input;
  for (const step of place) value = getChild(value, step);
  if (typeof value === "string") return value;
  throw internal(`${describePath(place)} should be a file and is not a string`);
}

/** A copy with the text at the path; everything off the path is shared. */
export function replaceText<T extends Json>(input: T, place: InputPath, text: string): T;
export function replaceText(input: Json, [step, ...rest]: InputPath, text: string): Json {
  if (step === undefined) return text;
  const child = replaceText(getChild(input, step) ?? null, rest, text);
  if (Array.isArray(input)) return input.with(Number(step), child);
  return typeof input === "object" ? { ...input, [step]: child } : input;
}

/** Own properties only, since a name may be that of an inherited one. */
function getChild(value: Json | undefined, step: string | number): Json | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, step)) return undefined;
  return Array.isArray(value) ? value[Number(step)] : value[step];
}
