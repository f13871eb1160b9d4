/** Paths into an input, as a job names them. */
import { getChild } from "../../../src/domain/files/input-files.ts";
import { markedName } from "../../../src/lib/exact-json.ts";
import type { Json } from "../../../src/protocol/common.ts";
import type { InputFile } from "../../../src/protocol/runner.ts";
import { internal } from "../lib/failure.ts";

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

/** The path in an input that was parsed exactly. */
export const markedPath = (place: InputPath): InputPath =>
  place.map((step) => (typeof step === "string" ? markedName(step) : step));

/** @throws Failure if there is no text at the path */
export function textAt(input: Json, place: InputPath): string {
  let value: Json | undefined = input;
  for (const step of markedPath(place)) value = getChild(value, step);
  if (typeof value === "string") return value;
  throw internal(`${describePath(place)} should be a file and is not a string`);
}
