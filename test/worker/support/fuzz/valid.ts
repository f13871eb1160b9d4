/** Values that fit a schema of the document. */
import fc from "fast-check";
import {
  type InlineSchema,
  resolveSchema,
  type Schema,
  type Schemas,
} from "../../../../src/openapi/types.ts";

/** The source of values, in addition to the schemas themselves. */
export interface Source {
  schemas: Schemas;
  /** Returns likely values of a field, such as the name or ID of something that exists. */
  known(field: string, schema: InlineSchema): fc.Arbitrary<unknown> | undefined;
}

/** @param field the name of the field; items of a list have the list's name */
export function valid(from: Source, schema: Schema, field = ""): fc.Arbitrary<unknown> {
  const inline = resolveSchema(schema, from.schemas);
  const fitting = ofSchema(from, inline, field);
  const known = inline.type === "array" ? undefined : from.known(field, inline);
  if (!known) return fitting;
  return fc.oneof({ weight: 9, arbitrary: known }, { weight: 1, arbitrary: fitting });
}

function ofSchema(from: Source, schema: InlineSchema, field: string): fc.Arbitrary<unknown> {
  const choices = schema.anyOf ?? schema.oneOf;
  if (choices) return fc.oneof(...choices.map((choice) => valid(from, choice, field)));
  if (schema.enum) return fc.constantFrom<unknown>(...schema.enum);
  const types = [schema.type ?? JSON_TYPES].flat();
  if (types.length > 3) return anyJson;
  return fc.oneof(...types.map((type) => ofType(from, { ...schema, type }, field)));
}

const anyJson = fc.jsonValue({ maxDepth: 2 });
const anyName = fc.string({ maxLength: 10 });

const JSON_TYPES = ["string", "number", "boolean", "null", "array", "object"] as const;

function ofType(from: Source, schema: InlineSchema, field: string): fc.Arbitrary<unknown> {
  switch (schema.type) {
    case "string":
      return text(schema);
    case "integer":
      return fc.integer(rangeOf(schema));
    case "number":
      return fc.double({ ...rangeOf(schema), noNaN: true, minExcluded: true });
    case "boolean":
      return fc.boolean();
    case "array":
      return list(from, schema, field);
    case "object":
      return object(from, schema);
    default:
      return fc.constant(null);
  }
}

const rangeOf = ({ minimum, maximum = 1_000_000, exclusiveMinimum }: InlineSchema) => ({
  min: minimum ?? (typeof exclusiveMinimum === "number" ? exclusiveMinimum : -1_000_000),
  max: maximum,
});

/** Generators of texts by schema: fast-check takes milliseconds for each one, and there are thousands. */
const texts = new Map<string, fc.Arbitrary<string>>();

function text({ format, pattern, minLength, maxLength }: InlineSchema): fc.Arbitrary<string> {
  const key = JSON.stringify([format, pattern, minLength, maxLength]);
  const made = texts.get(key) ?? newText({ format, pattern, minLength, maxLength });
  texts.set(key, made);
  return made;
}

function newText({ format, pattern, minLength = 0, maxLength = 200 }: InlineSchema) {
  if (format === "uuid") return fc.uuid();
  if (format === "date") return dates.map((date) => toTimestamp(date).slice(0, 10));
  if (format === "date-time") return dates.map(toTimestamp);
  // The domain does not exist, so that nothing is reached by such an address.
  if (format === "uri") return fc.webPath().map((path) => `https://fuzz.invalid${path}`);
  const fits = (made: string) => made.length >= minLength && made.length <= maxLength;
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern)).filter(fits);
  return fc.oneof(
    fc.string({ unit: "binary", minLength, maxLength: Math.min(maxLength, 40) }).filter(fits),
    fc.string({ minLength, maxLength: Math.min(maxLength, 40) }),
    fc.constantFrom("x".repeat(minLength), "x".repeat(Math.min(maxLength, MAX_LENGTH))),
  );
}

/** The maximum length: longer texts would fill a body of 10 MB. */
const MAX_LENGTH = 300_000;
const MAX_ITEMS = 1_000;

const YEARS = { min: new Date("2000-01-01"), max: new Date("2100-01-01") };
const dates = fc.date({ noInvalidDate: true, ...YEARS });
const toTimestamp = (date: Date) => date.toISOString();

function list(from: Source, { items = {}, minItems, maxItems = 5 }: InlineSchema, field: string) {
  const item = valid(from, items, field);
  const some = fc.array(item, { minLength: minItems ?? 0, maxLength: Math.min(maxItems, 3) });
  if (maxItems > MAX_ITEMS) return some;
  const most = fc.array(item, { minLength: maxItems, maxLength: maxItems });
  return fc.oneof({ weight: 9, arbitrary: some }, { weight: 1, arbitrary: most });
}

function object(from: Source, { properties, required, additionalProperties }: InlineSchema) {
  if (!properties)
    return fc.dictionary(anyName, anyJson, {
      maxKeys: additionalProperties === undefined ? 0 : 4,
    });
  const values = Object.entries(properties).map(([name, one]) => [name, valid(from, one, name)]);
  const model: Record<string, fc.Arbitrary<unknown>> = Object.fromEntries(values);
  return fc.record(model, { requiredKeys: required ?? [], noNullPrototype: true });
}
