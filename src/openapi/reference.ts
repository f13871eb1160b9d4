/** References to component schemas. */
import type { InlineSchema, Schema, Schemas } from "./types.ts";

const PREFIX = "#/components/schemas/";

/** The name of the referenced component. */
export const refName = (schema: Schema): string | undefined => schema.$ref?.slice(PREFIX.length);

/** Follows references. @throws Error for an unknown component */
export function resolveSchema(schema: Schema, schemas: Schemas): InlineSchema {
  if (isInline(schema)) return schema;
  const name = schema.$ref.slice(PREFIX.length);
  const found = schemas[name];
  if (!found) throw new Error(`The document has no schema '${name}'.`);
  return resolveSchema(found, schemas);
}

/** Binary content, which has no example. */
export const isBinary = (schema: Schema): boolean => isInline(schema) && schema.format === "binary";

export const isInline = (schema: Schema): schema is InlineSchema => schema.$ref === undefined;
