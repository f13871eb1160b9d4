/** Values that fit a schema except for one mistake. */
import fc from "fast-check";
import { type InlineSchema, resolveSchema, type Schema } from "../../../../src/openapi/types.ts";
import { hostileText, hostileValue } from "./hostile.ts";
import { type Source, valid } from "./valid.ts";

export function mistaken(from: Source, schema: Schema, field = ""): fc.Arbitrary<unknown> {
  const inline = resolveSchema(schema, from.schemas);
  const here = fc.oneof(hostileValue, ...beyond(inline), ...resized(from, inline, field));
  const inside = within(from, inline, field);
  if (inside.length === 0) return here;
  return fc.oneof({ weight: 1, arbitrary: here }, { weight: 3, arbitrary: fc.oneof(...inside) });
}

/** Returns values one step outside each limit, and near misses of the choices. */
function beyond(schema: InlineSchema): fc.Arbitrary<unknown>[] {
  const { minimum, maximum, exclusiveMinimum, minLength, maxLength } = schema;
  const values: unknown[] = [];
  if (minimum !== undefined) values.push(minimum - 1, minimum - 0.5);
  if (maximum !== undefined) values.push(maximum + 1, maximum + 0.5);
  if (exclusiveMinimum !== undefined) values.push(exclusiveMinimum, 0, -1);
  if (minLength) values.push("a".repeat(minLength - 1));
  if (maxLength !== undefined) values.push("a".repeat(maxLength + 1), "🐙".repeat(maxLength));
  for (const one of schema.enum ?? []) values.push(`${one} `, String(one).toUpperCase(), [one]);
  return values.length > 0 ? [fc.constantFrom(...values)] : [];
}

/** A longer list of items would exceed the limit of a body. */
const MAX_ITEMS = 10_000;

/** Returns lists that are too long or too short, and objects that lack a field or have one too many. */
function resized(from: Source, schema: InlineSchema, field: string): fc.Arbitrary<unknown>[] {
  const { items, minItems, maxItems, properties, required = [] } = schema;
  const made: fc.Arbitrary<unknown>[] = [];
  if (items && maxItems !== undefined && maxItems <= MAX_ITEMS) {
    const size = { minLength: maxItems + 1, maxLength: maxItems + 1 };
    made.push(fc.array(valid(from, items, field), size));
  }
  if (items && minItems) made.push(fc.constant([]));
  if (!properties) return made;
  const whole = valid(from, schema);
  for (const name of required)
    made.push(whole.map((value) => ({ ...Object(value), [name]: undefined })));
  const extra = fc.tuple(whole, hostileText, hostileValue);
  made.push(extra.map(([value, name, more]) => Object.fromEntries(entriesWith(value, name, more))));
  return made;
}

const entriesWith = (value: unknown, name: string, more: unknown): [string, unknown][] => [
  ...Object.entries(Object(value)),
  [name, more],
];

/** Returns values with the mistake in one of their parts. */
function within(from: Source, schema: InlineSchema, field: string): fc.Arbitrary<unknown>[] {
  const { items, properties = {}, anyOf = [], oneOf = [] } = schema;
  const made = [...anyOf, ...oneOf].map((choice) => mistaken(from, choice, field));
  if (items) {
    const list = fc.array(valid(from, items, field), { maxLength: 2 });
    made.push(fc.tuple(list, mistaken(from, items, field)).map(([all, bad]) => [...all, bad]));
  }
  for (const [name, part] of Object.entries(properties)) {
    const both = fc.tuple(valid(from, schema), mistaken(from, part, name));
    made.push(both.map(([value, bad]) => ({ ...Object(value), [name]: bad })));
  }
  return made;
}
