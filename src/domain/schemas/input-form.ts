/** Turns a version's input schema into form fields. */
import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { Json } from "../../protocol/common.ts";
import { enumOptions, type Keywords, SchemaResolver } from "./input-form-schema.ts";

/**
 * The kind of a field. `text` is one line, `lines` several, `secret` is masked. `range` is a number with
 * bounds close enough for a slider. `file` is the URL of a file; `files` and `strings` have one per line.
 * `messages` is the user's message in a chat. `json` is everything else.
 */
export type FieldKind =
  | "boolean"
  | "enum"
  | "file"
  | "files"
  | "integer"
  | "json"
  | "lines"
  | "messages"
  | "number"
  | "range"
  | "secret"
  | "strings"
  | "text";

export interface Field {
  name: string;
  label: string;
  description: string;
  kind: FieldKind;
  required: boolean;
  default?: Json;
  minimum?: number;
  maximum?: number;
  step?: number;
  options?: Json[];
  /** Whether a text field also accepts a list, written as JSON. */
  lists?: true;
}

/** The widest range and the most steps of a slider that can still be set precisely. */
const MAX_SPAN = 10_000;

/** A text field for this many characters has several lines. */
const LONG_TEXT = 2_000;

const PROSE = /prompt|text|message|content|instruction|story|document|lyrics|code|query|question/i;

/** Returns the fields by `x-order`. Empty for a schema without properties. */
export function formFields(schema: Json): Field[] {
  const resolver = new SchemaResolver(schema);
  const { properties, required } = resolver.resolve(schema);
  const needed = new Set(listOf(required));
  return Object.entries(fieldsOf(properties))
    .map(([name, part]) => ({ name, part: resolver.resolve(part) }))
    .toSorted((a, b) => orderOf(a.part) - orderOf(b.part))
    .map(({ name, part }) => fieldOf(name, part, needed.has(name), resolver));
}

const orderOf = ({ "x-order": order }: Keywords) =>
  typeof order === "number" ? order : Number.MAX_SAFE_INTEGER;

function fieldOf(name: string, part: Keywords, required: boolean, resolver: SchemaResolver): Field {
  const preset = part.default ?? undefined;
  return {
    name,
    label: textIn(part.title) || name,
    description: textIn(part.description),
    required,
    // A default of null means no default.
    ...(preset !== undefined && { default: preset }),
    ...shapeOf(name, part, required || typeof preset === "boolean", resolver),
  };
}

type Shape = Omit<Field, "name" | "label" | "description" | "required" | "default">;

function shapeOf(name: string, part: Keywords, hasValue: boolean, resolver: SchemaResolver): Shape {
  const options = enumOptions(part);
  // `null` is left out of an optional field's options: choosing nothing is the same.
  if (options)
    return { kind: "enum", options: hasValue ? options : options.filter((one) => one !== null) };
  const types = typesOf(part);
  // A union with strings gets a text field: the user types the string.
  if (types.includes("string")) {
    const kind = stringKind(name, part);
    const lists = types.includes("array") && (kind === "text" || kind === "lines");
    return { kind, ...(lists && { lists }) };
  }
  if (types.length > 0 && types.every((type) => type === "number" || type === "integer")) {
    return numberShape(part, !types.includes("number"));
  }
  if (types.length !== 1) return { kind: "json" };
  switch (types[0]) {
    case "boolean":
      // An unchecked box means false; an optional boolean needs a third state.
      return hasValue ? { kind: "boolean" } : { kind: "enum", options: [true, false] };
    case "array":
      return { kind: listKind(name, part, resolver) };
    default:
      return { kind: "json" };
  }
}

function typesOf({ type, items }: Keywords): Json[] {
  const types = [type ?? []].flat().filter((one) => one !== "null");
  return types.length === 0 && items !== undefined ? ["array"] : types;
}

function stringKind(name: string, { format, pattern, maxLength, ...part }: Keywords): FieldKind {
  if (format === "uri") return "file";
  if (format === "password" || part["x-cog-secret"] === true) return "secret";
  if (format !== undefined || pattern !== undefined) return "text";
  if (typeof maxLength === "number") return maxLength < LONG_TEXT ? "text" : "lines";
  return PROSE.test(name) ? "lines" : "text";
}

function numberShape({ minimum, maximum, multipleOf }: Keywords, integer: boolean): Shape {
  const shape: Shape = { kind: integer ? "integer" : "number" };
  if (typeof minimum === "number") shape.minimum = minimum;
  if (typeof maximum === "number") shape.maximum = maximum;
  const span = (shape.maximum ?? Number.NaN) - (shape.minimum ?? Number.NaN);
  if (!(span > 0 && span <= MAX_SPAN)) return shape;
  const stop = integer ? 1 : stopOf(span);
  const step = typeof multipleOf === "number" ? multipleOf : stop;
  return span / step <= MAX_SPAN ? { ...shape, kind: "range", step } : shape;
}

/** Returns a step that makes at least 100 steps, at round numbers. */
const stopOf = (span: number) => 10 ** Math.floor(Math.log10(span / 100));

function listKind(
  name: string,
  { prefixItems, items }: Keywords,
  resolver: SchemaResolver,
): FieldKind {
  if (prefixItems !== undefined || Array.isArray(items)) return "json";
  const item = resolver.resolve(items);
  const types = typesOf(item);
  if (name === "messages" && types.every((type) => type === "object")) return "messages";
  if (types.length !== 1 || types[0] !== "string" || enumOptions(item)) return "json";
  return item.format === "uri" ? "files" : "strings";
}

const textIn = (value: Json | undefined) => (typeof value === "string" ? value.trim() : "");
