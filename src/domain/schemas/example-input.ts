/** An input for code samples: the defaults of a schema, and placeholders for its other required fields. */

import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { type Field, formFields } from "./input-form.ts";
import { enumOptions, type Keywords, SchemaResolver } from "./input-form-schema.ts";

export function exampleInput(schema: Json): { [name: string]: Json } {
  const resolver = new SchemaResolver(schema);
  const properties = fieldsOf(resolver.resolve(schema).properties);
  return Object.fromEntries(
    formFields(schema)
      .filter((field) => field.required || field.default !== undefined)
      .map((field) => [
        field.name,
        field.default ?? placeholder(field) ?? sample(properties[field.name], resolver, 0),
      ]),
  );
}

/** The depth at which samples end: schemas may refer to themselves. */
const MAX_DEPTH = 5;

/** A small value that fits a schema, as far as its keywords say how one looks. */
function sample(schema: Json | undefined, resolver: SchemaResolver, depth: number): Json {
  const part = resolver.resolve(schema);
  const [first] = listOf(part.examples);
  const known =
    part.default ?? part.const ?? first ?? enumOptions(part)?.find((one) => one !== null);
  if (known !== undefined) return known;
  if (depth > MAX_DEPTH) return null;
  const types = [part.type ?? []].flat().filter((one) => one !== "null");
  switch (types[0] ?? (part.properties ? "object" : part.items ? "array" : "object")) {
    case "string":
      return textFor(part);
    case "integer":
    case "number":
      return numberFor(part, types[0] === "integer");
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: Math.max(1, numberOf(part.minItems) ?? 1) }, (_, n) =>
        sample(listOf(part.prefixItems)[n] ?? part.items, resolver, depth + 1),
      ).slice(0, MAX_ITEMS);
    default:
      return Object.fromEntries(
        listOf(part.required).flatMap((name) =>
          typeof name === "string"
            ? [[name, sample(fieldsOf(part.properties)[name], resolver, depth + 1)]]
            : [],
        ),
      );
  }
}

const MAX_ITEMS = 10;

const numberOf = (value: Json | undefined) => (typeof value === "number" ? value : undefined);

const FORMATS: Record<string, string> = {
  uri: "https://example.com/file",
  uuid: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  "date-time": "2026-11-20T10:15:30Z",
  date: "2026-11-20",
  time: "10:15:30Z",
  email: "ada@example.com",
};

const MAX_TEXT = 200;

function textFor({ format, minLength, maxLength }: Keywords): string {
  const text = (typeof format === "string" && FORMATS[format]) || "some text";
  const least = Math.min(numberOf(minLength) ?? 0, MAX_TEXT);
  return text.padEnd(least, ".").slice(0, numberOf(maxLength) ?? MAX_TEXT);
}

function numberFor(part: Keywords, isInteger: boolean): number {
  const multiple = numberOf(part.multipleOf);
  const step = multiple ?? (isInteger ? 1 : 0.1);
  const over = numberOf(part.exclusiveMinimum);
  const under = numberOf(part.exclusiveMaximum);
  const least = Math.max(
    numberOf(part.minimum) ?? -Infinity,
    over === undefined ? -Infinity : over + step,
  );
  const most = Math.min(
    numberOf(part.maximum) ?? Infinity,
    under === undefined ? Infinity : under - step,
  );
  const wanted = Math.min(Math.max(1, least), most);
  const bounded = Number.isFinite(least) ? least : wanted;
  const value = isInteger ? Math.ceil(bounded) : bounded;
  return multiple === undefined ? value : Math.ceil(value / multiple) * multiple;
}

/** Files that are small enough for a command, so that it works as it is. */
const FILES: [of: RegExp, address: string][] = [
  [
    /image|picture|photo|mask|img/i,
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==",
  ],
  [
    /audio|sound|speech|voice|music|song/i,
    "data:audio/wav;base64,UklGRjQAAABXQVZFZm10IBAAAAABAAEAgD4AAAB9AAACABAAZGF0YRAAAAAAAAAAAAAAAAAAAAAAAAAA",
  ],
];

const fileFor = ({ name, description }: Field): string =>
  FILES.find(([of]) => of.test(`${name} ${description}`))?.[1] ?? "https://example.com/file";

/** Returns undefined for a value that its schema alone describes. */
function placeholder(field: Field): Json | undefined {
  switch (field.kind) {
    case "file":
      return fileFor(field);
    case "files":
      return [fileFor(field)];
    case "messages":
      return [{ role: "user", content: "Who are you?" }];
    default:
      return undefined;
  }
}
