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
  token: "AUSPEX_TOKEN" | undefined;
  body: Media | undefined;
  answer: Media | undefined;
}

export interface Media {
  type: string;
  isBytes: boolean;
  example: unknown;
}

/** Base URLs of the clients of OpenAI and Anthropic, by the first segment of a path in the document. */
const CONVENTIONS: Record<string, string> = { vendora: "/openai/v1", vendorb: "/anthropic/v1" };

/** Returns the address of an operation below the origin, by its path in the OpenAPI document. */
export const addressOf = (path: string): string => {
  const [, first = "", rest] = /^\/(\w+)(.*)$/.exec(path) ?? [];
  const prefix = CONVENTIONS[first];
  return prefix === undefined ? `/v1${path}` : prefix + rest;
};

export function requestOf(
  { path, method, operation }: DocumentedOperation,
  origin: string,
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
    url: origin + addressOf(filled) + (query && `?${query}`),
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
  return "AUSPEX_TOKEN";
}
