/**
 * What is taken for a field that is left out, in words. Generators of clients take `default` for a
 * promise that the field is always there, and have callers send it.
 */
import { isInline } from "./reference.ts";
import type { Schema, Schemas } from "./types.ts";

export const describeDefaults = (schemas: Schemas): Schemas => each(schemas);

function said(schema: Schema): Schema {
  if (!isInline(schema)) return schema;
  const { default: preset, properties, anyOf, ...rest } = schema;
  const without = {
    ...rest,
    ...(properties && { properties: each(properties) }),
    ...(anyOf && { anyOf: anyOf.map(said) }),
  };
  if (preset === undefined) return without;
  const words = `\`${JSON.stringify(preset)}\` when it is left out`;
  return { ...without, description: [rest.description, words].filter(Boolean).join("; ") };
}

const each = (schemas: Schemas): Schemas =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, said(schema)]));
