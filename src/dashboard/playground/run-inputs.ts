/** Labels and pictures of runs in lists. */
import { isText, isWords, promptOf } from "../../domain/predictions/prompt.ts";
import type { Field } from "../../domain/schemas/input-form.ts";
import { exactText, unmarked } from "../../lib/exact-json.ts";
import { isObject } from "../../lib/json.ts";
import { oneLine } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";
import { outputOf } from "../prediction-view/output-kind.ts";

export type KnownField = Pick<Field, "name" | "kind" | "default">;

const MAX_CHARS = 90;

/** Returns the first words of a text that the run has made; undefined for other outputs. */
export function wordsOf(output: Json): string | undefined {
  const texts = [output].flat().filter(isText);
  const text = texts.join("").slice(0, 4 * MAX_CHARS);
  return isWords(text) ? cut(text) : undefined;
}

/**
 * Returns the prompt of the input, or else its fields, without those that are as in the form.
 * @param fields of the model
 */
export function labelOf(input: Json, fields: KnownField[] = []): string {
  if (!isObject(input)) return "";
  const choices = new Set(fields.filter(({ kind }) => kind === "enum").map(({ name }) => name));
  const prompt = promptOf(input, (name) => choices.has(name));
  return cut(prompt || fieldsOf(changedOf(input, fields), choices));
}

/** All fields are in the label if no field was changed. */
function changedOf(input: { [name: string]: Json }, fields: KnownField[]) {
  const initial = new Map(fields.map((field) => [field.name, JSON.stringify(field.default)]));
  const changed = Object.entries(input).filter(
    ([name, value]) => initial.get(unmarked(name)) !== exactText(value),
  );
  return changed.length > 0 ? Object.fromEntries(changed) : input;
}

const fieldsOf = (input: { [name: string]: Json }, choices: Set<string>) =>
  Object.entries(input)
    .filter(([name, value]) => !isText(value) || choices.has(name))
    .map(([name, value]) => `${unmarked(name)}: ${exactText(value).slice(0, MAX_CHARS)}`)
    .join(", ");

const cut = (text: string) => oneLine(text, MAX_CHARS);

/** Returns the address of the first picture of this deployment among the run's outputs. */
export function pictureOf(output: Json, host: string): string | undefined {
  for (const one of Array.isArray(output) ? output.slice(0, 4) : [output]) {
    const shown = typeof one === "string" ? outputOf(one, host) : undefined;
    if (shown?.kind === "image" && !shown.address.startsWith("data:")) return shown.address;
  }
  return undefined;
}
