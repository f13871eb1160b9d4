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

/** A schema, or a reference to one. */
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
