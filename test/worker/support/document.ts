/** The served OpenAPI document, in both shapes. */
import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { app } from "../../../src/app.ts";
import { findSignature } from "../../../src/openapi/parameters.ts";
import {
  type Document,
  exampleOf,
  type InlineSchema,
  type Operation,
  type Parameter,
  type ResponseObject,
  resolveSchema,
  type Schema,
  type Schemas,
} from "../../../src/openapi/types.ts";
import { ORIGIN } from "./client.ts";

type Shape = "A" | "B";

/** Requests a path of a deployment that serves `shape`. */
export const askInShape = (shape: Shape, path: string) =>
  app.fetch(
    new Request(`${ORIGIN}${path}`),
    Object.assign({}, env, { RESOURCE_SHAPE: shape }),
    createExecutionContext(),
  );

export async function documentIn(shape: Shape): Promise<Document> {
  const response = await askInShape(shape, "/v1/openapi.json");
  return response.json();
}

export const schemasOf = (document: Document): Schemas => document.components?.schemas ?? {};

/** Returns a schema of the document by its name. */
export function schemaNamed(document: Document, name: string): InlineSchema {
  return resolveSchema({ $ref: `#/components/schemas/${name}` }, schemasOf(document));
}

export const parametersOf = ({ parameters = [] }: Operation): Parameter[] =>
  parameters.filter((one): one is Parameter => "name" in one);

/** Returns the schema of a JSON request body. */
export function bodyOf({ requestBody }: Operation): Schema | undefined {
  return requestBody && "content" in requestBody
    ? requestBody.content["application/json"]?.schema
    : undefined;
}

/** Returns the responses that are not errors. */
export const successesOf = ({ responses = {} }: Operation): [status: string, ResponseObject][] =>
  Object.entries(responses).filter(([status]) => status < "400");

/** Whether the operation answers with a file, which may be of any type. */
export const answersBytes = (operation: Operation): boolean =>
  successesOf(operation).some(([, { content = {} }]) => "*/*" in content);

/** Returns a path with the examples of its parameters, and a signature where the operation takes one. */
export function filled(path: string, operation: Operation, schemas: Schemas): string {
  const examples = (place: string) =>
    parametersOf(operation)
      .filter((one) => one.in === place)
      .map(({ name, schema = {} }) => [name, String(exampleOf(schema, schemas))] as const);
  const place = examples("path").reduce(
    (text, [name, one]) => text.replace(`{${name}}`, one),
    path,
  );
  const isSigned = findSignature(operation) !== undefined;
  return isSigned
    ? `${place}?${new URLSearchParams(Object.fromEntries(examples("query")))}`
    : place;
}
