/** The OpenAPI document, generated from the routes' declarations. */
import type { OpenAPIHono } from "@hono/zod-openapi";
import type { Context, Handler } from "hono";
import { LRUCache } from "lru-cache";
import type { AppEnv } from "../context.ts";
import type { Convention } from "../domain/openai/call.ts";
import type { ResourceShape } from "../protocol/user.ts";
import { headers, sharedAnswers } from "./answers.ts";
import { conventionAnswers, PREFIX } from "./convention-answers.ts";
import { info, securitySchemes, tags } from "./introduction.ts";
import { completeOperation } from "./operation.ts";
import { addSamples } from "./samples.ts";
import {
  type Document,
  type DocumentedOperation,
  isInline,
  METHODS,
  type PathItem,
  type ResponseObject,
  type Schema,
  type Schemas,
} from "./types.ts";

const BASE = "/v1";

/** Resources with a shape A and B, of which a deployment documents the one it serves. */
const SHAPED = ["Owner", "User", "OwnUser"];

/** The document of a deployment at `origin` that serves `shape`. */
export function createDocument(
  api: OpenAPIHono<AppEnv>,
  shape: ResourceShape,
  origin: string,
): Document {
  const {
    paths = {},
    webhooks = {},
    components,
    ...head
  } = api.getOpenAPI31Document({
    openapi: "3.1.0",
    info,
    servers: [{ url: origin + BASE }],
    security: [{ accessToken: [] }],
  });
  const schemas = inShape(addSamples(components?.schemas ?? {}), shape);
  const complete = Object.entries(paths).map(([path, item]) => {
    const operations = operationsOf(path, item).map((one) => [
      one.method,
      completeOperation(one, handlersOf(api, one), schemas),
    ]);
    return [path.slice(BASE.length), Object.fromEntries(operations)];
  });
  // The router prefixes webhook names as if they were paths.
  const named = Object.entries(webhooks).map(([path, item]) => [path.slice(BASE.length + 1), item]);
  return {
    ...head,
    tags,
    paths: Object.fromEntries(complete),
    webhooks: Object.fromEntries(named),
    components: {
      schemas: describeDefaults(schemas),
      responses: { ...sharedAnswers, ...ofConvention("vendora"), ...ofConvention("vendorb") },
      headers,
      securitySchemes,
    },
  };
}

/** Statuses that no call of a convention has: none supports ranges, and OpenAI's clients know 429 for a budget. */
const UNUSED: Record<Convention, string[]> = { vendora: ["402", "416"], vendorb: ["416"] };

function ofConvention(convention: Convention): Record<string, ResponseObject> {
  const answers = Object.entries(conventionAnswers[convention]);
  const prefix = PREFIX[convention];
  return Object.fromEntries(
    answers
      .filter(([status]) => !UNUSED[convention].includes(status))
      .map(([status, answer]) => [`${prefix}${status}`, answer]),
  );
}

export const operationsIn = ({ paths = {} }: Document): DocumentedOperation[] =>
  Object.entries(paths).flatMap(([path, item]) => operationsOf(path, item));

const operationsOf = (path: string, item: PathItem): DocumentedOperation[] =>
  METHODS.flatMap((method) => {
    const operation = item[method];
    return operation ? [{ path, method, operation }] : [];
  });

function inShape(schemas: Schemas, shape: ResourceShape): Schemas {
  const other = shape === "A" ? "B" : "A";
  const shown = { ...schemas };
  for (const name of SHAPED) {
    const served = schemas[name + shape];
    if (served) shown[name] = served;
    delete shown[name + shape];
    delete shown[name + other];
  }
  return shown;
}

/** The handlers of a route, including its own middleware. */
function handlersOf(api: OpenAPIHono<AppEnv>, { method, path }: DocumentedOperation): Handler[] {
  const route = path.replaceAll(/{(\w+)}/g, ":$1");
  return api.routes
    .filter((entry) => entry.method === method.toUpperCase() && entry.path === route)
    .map(({ handler }) => handler);
}

/**
 * Moves default values into descriptions. Client generators read `default` as a promise that the field is
 * always present, and require callers to send it.
 */
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

/** A deployment has few origins: its own domain and the one at workers.dev. */
const MAX_ORIGINS = 8;

/**
 * Calls `make` once for each origin, with the resource shape that the deployment serves.
 * The isolate keeps the results.
 * @param make gets the same further arguments as long as the isolate lives
 */
export function perOrigin<Value extends object | string, More extends unknown[] = []>(
  make: (shape: ResourceShape, origin: string, ...more: More) => Value,
) {
  const cache = new LRUCache<string, Value>({ max: MAX_ORIGINS });
  return (c: Context<AppEnv>, ...more: More): Value => {
    const shape = c.var.services.settings.resourceShape;
    const { origin } = new URL(c.req.url);
    const key = `${shape} ${origin}`;
    const value = cache.get(key) ?? make(shape, origin, ...more);
    cache.set(key, value);
    return value;
  };
}

/** The document and its pages change only with a deployment. */
export const DOCUMENT_CACHE = "public, max-age=300";
