/** Composes an example of a schema from the examples of its parts. */
import { resolveSchema } from "./reference.ts";
import type { InlineSchema, Schema, Schemas } from "./types.ts";

export function exampleOf(reference: Schema, schemas: Schemas): unknown {
  // An example next to a reference is more specific than that of the referenced schema.
  if ("example" in reference) return reference.example;
  const schema = resolveSchema(reference, schemas);
  const { example, default: preset, allOf, anyOf, oneOf, properties, items } = schema;
  if (example !== undefined) return example;
  if (preset !== undefined) return preset;
  if (schema.enum) return schema.enum[0];
  const [choice] = allOf ?? anyOf ?? oneOf ?? [];
  if (choice) return exampleOf(choice, schemas);
  if (properties) {
    const entries = Object.entries(properties);
    return Object.fromEntries(entries.map(([name, part]) => [name, exampleOf(part, schemas)]));
  }
  if (items) return [exampleOf(items, schemas)];
  return plain(schema);
}

function plain({ type, format, minimum = 0 }: InlineSchema): unknown {
  switch (Array.isArray(type) ? type[0] : type) {
    case "string":
      return FORMATS[format ?? ""] ?? "text";
    case "integer":
    case "number":
      return minimum;
    case "boolean":
      return true;
    case "object":
      return {};
    default:
      return null;
  }
}

const FORMATS: Record<string, string> = {
  uuid: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  "date-time": "2026-11-20T10:15:30.000Z",
  uri: "https://example.com/",
};
