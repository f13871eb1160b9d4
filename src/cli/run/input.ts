/**
 * The input of a prediction, from a command line: `key=text`, `key:=JSON`, `key=@file`. Text becomes
 * what the version's schema says: a number, a choice, a chat message, an item of a list.
 */

import type { Field } from "../../domain/schemas/input-form.ts";
import { formFields } from "../../domain/schemas/input-form.ts";
import { readField } from "../../domain/schemas/input-form-values.ts";
import { versionSchema } from "../../domain/schemas/version-schemas.ts";
import { parseExact } from "../../lib/exact-json.ts";
import type { Json } from "../../protocol/common.ts";
import type { Schemas } from "../../protocol/model.ts";
import { Misuse } from "../failure.ts";
import { noSuchInput } from "./unknown-inputs.ts";

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
    throw new Misuse(`“${argument}” is no input: write key=value, key:=JSON or key=@file.`);
  if (colon === ":") return { name, kind: "json", value };
  return value.startsWith("@")
    ? { name, kind: "file", value: value.slice(1) }
    : { name, kind: "text", value };
}

export interface InputOptions {
  /** What the pairs change. */
  base: Input;
  pairs: Pair[];
  /** Undefined if nobody knows them yet. */
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
  if (more.length > 0) throw new Misuse(`${name} is given twice.`);
  try {
    return parseExact(text);
  } catch (error) {
    throw new Misuse(`${name}: this is not JSON: ${text}`, { cause: error });
  }
}

function coerced(name: string, field: Field | undefined, texts: string[]): Json {
  if (field?.kind === "files" || field?.kind === "strings") return texts;
  const [text = "", ...more] = texts;
  if (more.length > 0) {
    if (!field || field.kind === "json" || field.lists) return texts;
    throw new Misuse(`${name} is given twice.`);
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
      throw new Misuse(`${name}: true or false is needed, not “${text}”.`);
    case "enum":
      return chosen(name, field.options ?? [], text);
    default: {
      const reading = readField({ ...field, text });
      if (reading && "value" in reading) return reading.value;
      throw new Misuse(`${name}: ${reading?.fault ?? "a value is needed"}`);
    }
  }
}

function chosen(name: string, options: Json[], text: string): Json {
  const value = options.find((one) => one === text || JSON.stringify(one) === text);
  if (value !== undefined) return value;
  throw new Misuse(
    `${name}: one of ${options.map((one) => JSON.stringify(one)).join(", ")} is needed.`,
  );
}
