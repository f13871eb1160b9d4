/**
 * The input of a prediction, from a command line: `key=text`, `key:=JSON`, `key=@file`. Text becomes
 * what the version's schema says: a number, a choice, a chat message, an item of a list.
 */

import { closest, distance } from "fastest-levenshtein";
import { type Field, formFields } from "../../domain/schemas/input-form.ts";
import { readField } from "../../domain/schemas/input-form-values.ts";
import { resolvePointer } from "../../domain/schemas/json-pointer.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { parseExact } from "../../lib/exact-json.ts";
import { listOf } from "../../lib/fields.ts";
import { isObject } from "../../lib/json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas, Version } from "../../protocol/model.ts";
import { Misuse } from "../failure.ts";

export type Input = { [name: string]: Json };

export interface Pair {
  name: string;
  kind: "text" | "json" | "file";
  /** The path of a file. */
  value: string;
}

export function readPair(argument: string): Pair {
  const [, name, colon, value = ""] = /^([^=]+?)(:?)=(.*)$/s.exec(argument) ?? [];
  if (name === undefined)
    throw new Misuse(`Invalid input "${argument}". Use key=value, key:=JSON or key=@file.`);
  if (colon === ":") return { name, kind: "json", value };
  return value.startsWith("@")
    ? { name, kind: "file", value: value.slice(1) }
    : { name, kind: "text", value };
}

export interface InputOptions {
  base: Input;
  pairs: Pair[];
  /** The schemas of the version; undefined while they are unknown. */
  schemas: Schemas | undefined;
  /** @returns the URL of an uploaded file */
  upload: (path: string) => Promise<string>;
}

/** @throws Misuse that names the input */
export async function buildInput({ base, pairs, schemas, upload }: InputOptions): Promise<Input> {
  const fields = new Map(fieldsOf(schemas).map((field) => [field.name, field]));
  const entries: [string, Json][] = [];
  for (const [name, own] of Map.groupBy(pairs, (pair) => pair.name)) {
    const field = fields.get(name);
    if (!field && fields.size > 0 && isClosed(schemas)) throw unknown(name, fields);
    const texts: string[] = [];
    for (const { kind, value } of own) texts.push(kind === "file" ? await upload(value) : value);
    const isJson = own.some(({ kind }) => kind === "json");
    entries.push([name, isJson ? parsed(name, texts) : coerced(name, field, texts)]);
  }
  // `fromEntries`: an input may be called __proto__.
  return Object.fromEntries([...Object.entries(base), ...entries]);
}

const fieldsOf = (schemas: Schemas | undefined): Field[] =>
  schemas ? formFields(versionSchema(schemas, "input")) : [];

const isClosed = (schemas: Schemas | undefined) =>
  schemas?.prediction.input.additionalProperties === false;

const unknown = (name: string, fields: Map<string, Field>) =>
  new Misuse(noSuchInput("The model", name, [...fields.keys()]));

function parsed(name: string, [text = "", ...more]: string[]): Json {
  if (more.length > 0) throw new Misuse(`${name} can only be given once.`);
  try {
    return parseExact(text);
  } catch (error) {
    throw new Misuse(`${name}: invalid JSON: ${text}`, { cause: error });
  }
}

function coerced(name: string, field: Field | undefined, texts: string[]): Json {
  if (field?.kind === "files" || field?.kind === "strings") return texts;
  const [text = "", ...more] = texts;
  if (more.length > 0) {
    if (!field || field.kind === "json" || field.lists) return texts;
    throw new Misuse(`${name} can only be given once.`);
  }
  if (!field) return text;
  switch (field.kind) {
    case "file":
    case "lines":
    case "secret":
    case "text":
      return text;
    case "boolean":
      if (text === "true" || text === "false") return text === "true";
      throw new Misuse(`${name}: must be true or false, not "${text}".`);
    case "enum":
      return chosen(name, field.options ?? [], text);
    default: {
      const reading = readField({ ...field, text });
      if (reading && "value" in reading) return reading.value;
      throw new Misuse(`${name}: ${reading?.fault ?? "required"}`);
    }
  }
}

function chosen(name: string, options: Json[], text: string): Json {
  const value = options.find((one) => one === text || JSON.stringify(one) === text);
  if (value !== undefined) return value;
  throw new Misuse(
    `${name}: must be one of ${options.map((one) => JSON.stringify(one)).join(", ")}.`,
  );
}

/** @returns the names that the schema surely does not allow, each with the names that it has */
export function unknownInputs(
  { schemas, configuration }: Pick<Version, "schemas" | "configuration">,
  given: readonly string[],
): { name: string; names: string[] }[] {
  // A server of OpenAI's API gets all of it, and takes more than its schema names.
  if (configuration.interface === "vendora") return [];
  const schema = versionSchema(schemas, "input");
  const names = formFields(schema).map(({ name }) => name);
  if (names.length === 0 || takesMore(schema, schema)) return [];
  return [...new Set(given)]
    .filter((name) => !names.includes(name))
    .map((name) => ({ name, names }));
}

/** `ada/story:1 has no input "nam". Did you mean "name"? Inputs: name, times.` */
export function noSuchInput(who: string, name: string, names: readonly string[]): string {
  const meant = nearest(name, names);
  const hint = meant === undefined ? "" : ` Did you mean "${meant}"?`;
  return `${who} has no input "${name}".${hint} Inputs: ${names.join(", ")}.`;
}

/** JSON Schema keywords that can allow names in addition to `properties`. */
const KEYWORDS = [
  ...["additionalProperties", "unevaluatedProperties", "patternProperties", "propertyNames"],
  ...["anyOf", "oneOf", "if", "dependentSchemas", "$dynamicRef"],
];
/** The most references that are followed, since they may be circular. */
const MAX_DEPTH = 8;

function takesMore(root: Json, part: Json | undefined, depth = 0): boolean {
  if (!isObject(part) || depth > MAX_DEPTH) return true;
  if (KEYWORDS.some((keyword) => keyword in part)) return true;
  const { $ref, allOf } = part;
  const referred = typeof $ref === "string" ? [resolvePointer(root, $ref)] : [];
  return [...referred, ...listOf(allOf)].some((one) => takesMore(root, one, depth + 1));
}

/** Letters that may be wrong: half of a short name, and three at most. */
const MOST = 3;

/** Returns the nearest name; undefined if none is near. */
export function nearest(typed: string, names: readonly string[]): string | undefined {
  const [from, to] = [typed.toLowerCase(), names.map((name) => name.toLowerCase())];
  const found = names[to.indexOf(closest(from, to))];
  if (found === undefined) return undefined;
  const wrong = distance(from, found.toLowerCase());
  return wrong <= Math.min(MOST, Math.min(typed.length, found.length) / 2) ? found : undefined;
}
