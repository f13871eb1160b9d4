/** Converts between the text in a form's fields and the model's input. */
import { exactText, markedName, parseExact, unmarked } from "../../lib/exact-json.ts";
import { readableJson } from "../../lib/text.ts";
import type { Json } from "../../protocol/common.ts";
import type { Field, FieldKind } from "./input-form.ts";
import { fault, formatAlternatives } from "./validation.ts";

export interface FilledField extends Field {
  text: string;
}

export type Input = { [name: string]: Json };

/** A field's value, or the fault of its text; undefined: no value. */
export type FieldReading = { value: Json } | { fault: string } | undefined;

interface FormReading {
  input: Input;
  faults: Map<string, string>;
}

export function readForm(fields: FilledField[]): FormReading {
  const values: [string, Json][] = [];
  const faults = new Map<string, string>();
  for (const field of fields) {
    const reading = readField(field);
    if (!reading) continue;
    if ("value" in reading) values.push([nameIn(field), reading.value]);
    else faults.set(field.name, reading.fault);
  }
  return { input: Object.fromEntries(values), faults };
}

/**
 * Fills a form with an input and its defaults. A value that its field cannot reproduce exactly is
 * shown as JSON.
 * @returns undefined when the input has fields that the form does not
 */
export function fillForm(fields: Field[], input: Input = {}): FilledField[] | undefined {
  const known = new Set(fields.map(({ name }) => name));
  if (Object.keys(input).some((name) => !known.has(unmarked(name)))) return undefined;
  return fields.map((field) =>
    fillField(field, Object.hasOwn(input, nameIn(field)) ? input[nameIn(field)] : field.default),
  );
}

const nameIn = ({ name }: Field) => markedName(name);

function fillField(field: Field, value: Json | undefined): FilledField {
  if (value === undefined) return { ...field, text: "" };
  const kinds: FieldKind[] = field.kind === "text" ? ["text", "lines"] : [field.kind];
  const exact = kinds
    .map((kind): FilledField => ({ ...field, kind, text: textOf(kind, value) }))
    .find((one) => JSON.stringify(readField(one)) === JSON.stringify({ value }));
  return exact ?? { ...field, kind: "json", text: textOf("json", value) };
}

function textOf(kind: FieldKind, value: Json): string {
  switch (kind) {
    case "boolean":
      return value === true ? "true" : "";
    case "enum":
      return JSON.stringify(value);
    case "json":
      return readableJson(value);
    case "files":
    case "strings":
      return Array.isArray(value) ? value.join("\n") : "";
    case "messages":
      return firstMessage(value);
    default:
      return Array.isArray(value) ? exactText(value) : unmarked(String(value));
  }
}

function firstMessage(messages: Json): string {
  const [first] = Array.isArray(messages) ? messages : [];
  const isMessage = typeof first === "object" && first !== null && "content" in first;
  return isMessage ? String(first.content) : "";
}

export function readField(field: FilledField): FieldReading {
  // The text is normalized as by a browser: line ends are one character; lone surrogates and NUL are
  // replaced.
  const text = field.text.replace(/\r\n?/g, "\n").replaceAll("\0", "\ufffd").toWellFormed();
  const typed = text.trim();
  const list = field.lists ? listIn(typed) : undefined;
  if (list) return list;
  switch (field.kind) {
    case "boolean":
      return { value: typed === "true" };
    case "lines":
      return text === "" ? emptyText(field) : { value: text };
    case "secret":
    case "text":
      return textual(field, text.replaceAll("\n", ""));
    case "file":
      return textual(field, typed);
    case "files":
    case "strings": {
      const lines = text.split("\n").filter((line) => line.trim() !== "");
      return lines.length > 0 ? { value: lines } : emptyList(field);
    }
    default:
      return typed === "" ? missing(field) : parsed(field, text);
  }
}

/** @returns undefined for plain text; a text that begins like a list was meant to be one */
function listIn(typed: string): FieldReading {
  if (!typed.startsWith("[")) return undefined;
  const reading = readJson(typed);
  if ("fault" in reading) return /^\[\s*"/.test(typed) ? reading : undefined;
  return Array.isArray(reading.value) ? reading : undefined;
}

export function readJsonInput(text: string): { input: Input } | { fault: string } {
  const reading = readJson(text);
  if ("fault" in reading) return reading;
  const { value } = reading;
  return typeof value === "object" && value !== null && !Array.isArray(value)
    ? { input: value }
    : { fault: fault("dict_type").msg };
}

const textual = (field: Field, text: string): FieldReading =>
  text === "" ? emptyText(field) : { value: text };

/** Reads an emptied field, which means an empty text if there is a default. */
const emptyText = (field: Field): FieldReading =>
  field.default === undefined ? missing(field) : { value: "" };

const emptyList = ({ required, default: preset }: Field): FieldReading =>
  required || preset !== undefined ? { value: [] } : undefined;

const missing = ({ required }: Field): FieldReading =>
  required ? { fault: fault("missing").msg } : undefined;

function parsed(field: Field, text: string): FieldReading {
  switch (field.kind) {
    case "enum":
      return chosen(field, text);
    case "json":
      return readJson(text);
    case "messages":
      return { value: [{ role: "user", content: text }] };
    default:
      return numeric(field, text.trim());
  }
}

/** Reads a choice. Options are compared as JSON: the text "1" is not the number 1. */
function chosen({ options = [] }: Field, text: string): FieldReading {
  const value = options.find((option) => JSON.stringify(option) === text);
  return value === undefined
    ? { fault: fault("enum", { expected: formatAlternatives(options) }).msg }
    : { value };
}

const NUMBER = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i;

function numeric({ kind }: Field, text: string): FieldReading {
  if (!NUMBER.test(text)) {
    return { fault: fault(kind === "integer" ? "int_parsing" : "float_parsing").msg };
  }
  if (!Number.isFinite(Number(text))) return { fault: fault("finite_number").msg };
  const reading = readJson(text);
  // JSON has no `+1` and no `.5`.
  return "value" in reading ? reading : { value: Number(text) };
}

export function readJson(text: string): { value: Json } | { fault: string } {
  try {
    return { value: parseExact(text) };
  } catch {
    return { fault: faultIn(text) };
  }
}

/** Parses the text again: in the error of `parseExact`, numbers may have marks. */
function faultIn(text: string): string {
  try {
    JSON.parse(text);
    return "Not valid JSON";
  } catch (error) {
    return `Not valid JSON: ${error instanceof Error ? error.message : ""}`;
  }
}
