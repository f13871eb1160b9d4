/** Types of the parts of an OpenAPI 3.1 document, from @hono/zod-openapi. */
import type { OpenAPIHono } from "@hono/zod-openapi";

type Inline<T> = Exclude<T, { $ref: string }>;

export type Document = ReturnType<OpenAPIHono["getOpenAPI31Document"]>;
export type Components = NonNullable<Document["components"]>;
export type PathItem = NonNullable<Document["paths"]>[string];
export type Operation = NonNullable<PathItem["get"]>;
export type Security = NonNullable<Operation["security"]>;
export type Parameter = Inline<NonNullable<Operation["parameters"]>[number]>;
export type ResponseObject = Inline<NonNullable<Components["responses"]>[string]>;
export type Content = NonNullable<ResponseObject["content"]>;
export type Header = Inline<NonNullable<ResponseObject["headers"]>[string]>;

export type Schema = NonNullable<Components["schemas"]>[string];
export type InlineSchema = Inline<Schema>;
export type Schemas = Record<string, Schema>;

export const METHODS = ["get", "post", "put", "patch", "delete"] as const;
export type Method = (typeof METHODS)[number];

export interface DocumentedOperation {
  path: string;
  method: Method;
  operation: Operation;
}

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
