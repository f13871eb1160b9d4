/** The example request of an operation, from the examples of the OpenAPI document: what samples say. */

import { findSignature } from "../../../openapi/parameters.ts";
import {
  type Content,
  type DocumentedOperation,
  exampleOf,
  isBinary,
  type Operation,
  type Parameter,
  type Schemas,
} from "../../../openapi/types.ts";

export interface SampleRequest {
  url: string;
  /** The method in capitals. */
  method: string;
  /** The variable with the token; undefined when none is needed. */
  token: "OPERATOR_TOKEN" | "AUSPEX_TOKEN" | undefined;
  body: Media | undefined;
  answer: Media | undefined;
}

export interface Media {
  type: string;
  isBytes: boolean;
  example: unknown;
}

/** @param base the base URL, without a trailing slash */
export function requestOf(
  { path, method, operation }: DocumentedOperation,
  base: string,
  schemas: Schemas,
): SampleRequest {
  const parameters = (operation.parameters ?? []).filter((one): one is Parameter => "name" in one);
  const textOf = ({ schema = {} }: Parameter) =>
    encodeURIComponent(String(exampleOf(schema, schemas)));
  const filled = parameters
    .filter((one) => one.in === "path")
    .reduce((text, one) => text.replace(`{${one.name}}`, textOf(one)), path);
  const query = parameters
    .filter((one) => one.in === "query" && one.required)
    .map((one) => `${one.name}=${textOf(one)}`)
    .join("&");
  const body = operation.requestBody;
  return {
    url: base + filled + (query && `?${query}`),
    method: method.toUpperCase(),
    token: tokenOf(operation),
    body: firstOf(body && "content" in body ? body.content : {}),
    answer: firstOf(operation.responses?.[200]?.content ?? {}),
  };
}

/** The media type of the sample. */
function firstOf(content: Content): Media | undefined {
  const [first] = Object.entries(content);
  if (!first) return undefined;
  const [type, { schema = {}, example }] = first;
  return { type, isBytes: isBinary(schema), example };
}

/** A sample uses the token where a signed URL is an alternative: a signature cannot be made up. */
function tokenOf(operation: Operation): SampleRequest["token"] {
  const { security = [{ accessToken: [] }] } = operation;
  const isPublic = security.some((way) => Object.keys(way).length === 0);
  if (isPublic && findSignature(operation)?.required !== false) return undefined;
  return security.some((way) => "operatorToken" in way) ? "OPERATOR_TOKEN" : "AUSPEX_TOKEN";
}
