/** Prepares a model's schema for display: resolves references and drops malformed keywords. */

import { z } from "zod";
import type { Keywords } from "../../domain/schemas/input-form-schema.ts";
import { resolvePointer } from "../../domain/schemas/json-pointer.ts";
import { fieldsOf, listOf } from "../../lib/fields.ts";
import type { InlineSchema } from "../../openapi/types.ts";
import { type Json, json } from "../../protocol/common.ts";

/** Schemas can be recursive, and wide at every level: both are bounded. */
const MAX_DEPTH = 6;
const MAX_PARTS = 1_000;

/** Names that are merged: a thousand references to an object of a thousand names would take 250 MB. */
const MAX_NAMES = 20_000;

/** Ignores a keyword of the wrong type: publishing validates only what a schema accepts. */
const lenient = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

const number = lenient(z.number());
const text = lenient(z.string());
const type = z.enum(["array", "boolean", "integer", "null", "number", "object", "string"]);

const keywords = z.object({
  type: lenient(z.union([type, z.array(type)])),
  description: text,
  format: text,
  pattern: text,
  enum: lenient(z.array(json)),
  const: lenient(json),
  default: lenient(json),
  minimum: number,
  maximum: number,
  exclusiveMinimum: number,
  exclusiveMaximum: number,
  multipleOf: number,
  minLength: number,
  maxLength: number,
  minItems: number,
  maxItems: number,
});

/** @returns the schema with its fields in display order, and whether it is complete */
export function displaySchema(root: Json): { schema: InlineSchema; complete: boolean } {
  let parts = 0;
  let names = 0;
  let complete = true;

  /** A subschema merged with its `$ref` and `allOf`. */
  function merged(part: Json, depth: number): Keywords {
    if (typeof part !== "object" || part === null || Array.isArray(part)) return {};
    names += [part, fieldsOf(part.properties), listOf(part.required)].flatMap(Object.keys).length;
    if (depth > MAX_DEPTH || ++parts > MAX_PARTS || names > MAX_NAMES) {
      complete = false;
      return {};
    }
    const { $ref, allOf, ...own } = part;
    const referred = typeof $ref === "string" ? [resolvePointer(root, $ref) ?? {}] : [];
    const all = [...[...referred, ...listOf(allOf)].map((one) => merged(one, depth + 1)), own];
    // The object is made from entries: assigning `__proto__` would set the prototype.
    const together = (objects: Keywords[]) => Object.fromEntries(objects.flatMap(Object.entries));
    return together([
      ...all,
      { required: all.flatMap(({ required }) => listOf(required)) },
      { properties: together(all.map(({ properties }) => fieldsOf(properties))) },
    ]);
  }

  function read(part: Json, depth: number): InlineSchema {
    const { properties, items, anyOf, oneOf, required, ...full } = merged(part, depth);
    const display: InlineSchema = withoutUndefined(keywords.parse(full));
    const needed = listOf(required).filter((name) => typeof name === "string");
    const fields = Object.entries(fieldsOf(properties)).toSorted(
      ([, a], [, b]) => orderOf(a) - orderOf(b),
    );
    if (needed.length > 0) display.required = needed;
    if (fields.length > 0) {
      display.properties = Object.fromEntries(
        fields.map(([name, field]) => [name, read(field, depth + 1)]),
      );
    }
    if (items !== undefined && !Array.isArray(items)) display.items = read(items, depth + 1);
    const choices = [...listOf(anyOf), ...listOf(oneOf)];
    if (choices.length > 0) display.anyOf = choices.map((one) => read(one, depth + 1));
    return display;
  }

  return { schema: read(root, 0), complete };
}

/** Cog's order of fields; those without one come last. */
function orderOf(field: Json): number {
  const { "x-order": order } = fieldsOf(field);
  return typeof order === "number" ? order : Number.MAX_SAFE_INTEGER;
}

/** An undefined `default` would be displayed as a value. */
const withoutUndefined = <Value extends object>(value: Value) =>
  Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined));
