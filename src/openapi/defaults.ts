/**
 * Moves default values into descriptions. Client generators read `default` as a promise that the field
 * is always present, and require callers to send it.
 */
import { isInline } from "./reference.ts";
import type { Schema, Schemas } from "./types.ts";

export const describeDefaults = (schemas: Schemas): Schemas => each(schemas);

function describe(schema: Schema): Schema {
  if (!isInline(schema)) return schema;
  const { default: preset, properties, anyOf, ...rest } = schema;
  const without = {
    ...rest,
    ...(properties && { properties: each(properties) }),
    ...(anyOf && { anyOf: anyOf.map(describe) }),
  };
  if (preset === undefined) return without;
  const words = `\`${JSON.stringify(preset)}\` by default`;
  return { ...without, description: [rest.description, words].filter(Boolean).join("; ") };
}

const each = (schemas: Schemas): Schemas =>
  Object.fromEntries(Object.entries(schemas).map(([name, schema]) => [name, describe(schema)]));
