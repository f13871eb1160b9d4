/** Documentation and responses that the routes of the OpenAI convention share. */

import { createRoute, type RouteConfig, z } from "@hono/zod-openapi";
import type { TypedResponse } from "hono";
import { exactText } from "../../lib/exact-json.ts";
import { EVENT_STREAM } from "../../lib/sse.ts";
import { requireScopeToRun } from "../../middleware/authentication.ts";
import { takesDataUris } from "../../middleware/body.ts";
import { modelInBody } from "../../middleware/named-model.ts";
import { addPredictionHeaders, resolveTarget } from "../../middleware/openai.ts";
import { type Json, json } from "../../protocol/common.ts";
import { openAiErrorBody, openAiInvalid } from "../../protocol/openai/error.ts";
import type { OpenAiCall } from "../../protocol/runner.ts";
import type { EventStream } from "../../services/access/concurrency-limit.ts";
import { createHeaders } from "../predictions/create-document.ts";
import { jsonBody, jsonResponse } from "../responses.ts";

export const FILE = { type: "string", format: "binary" } as const;

export const TEXT = { type: "string" } as const;

export const FILES = { anyOf: [FILE, { type: "array" as const, items: FILE }] };

export const tags = ["OpenAI"];

export const callHeaders = createHeaders.pick({ "idempotency-key": true });

export const predictionHeaders = {
  "auspex-prediction-id": {
    description: "ID of the call's prediction, for GET /predictions/{prediction_id}",
    schema: { type: "string" as const, format: "uuid" },
    example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  },
  "x-auspex-cost": {
    description:
      "Cost of the call as decimal text, in the deployment's currency. Absent from streams and background responses, whose usage has it at the end as a number, `cost`",
    schema: { type: "string" as const },
    example: "0.0016",
  },
  "x-auspex-answered-by": {
    description:
      "The version that answered, if `model` is a deployment: its own, or a fallback. A stream that begins before its first output has a comment line instead, `: x-auspex-answered-by: owner/name:number`. Absent from background responses, whose prediction names it",
    schema: { type: "string" as const },
    example: "demo/far:1",
  },
};

export const responseHeaders = {
  ...predictionHeaders,
  "auspex-tools-left-out": {
    description:
      "Tool types in the request that were removed because the model does not support them",
    schema: { type: "string" as const },
    example: "web_search, image_generation",
  },
  "auspex-content-left-out": {
    description:
      "Item or block types in the conversation that were removed because the model does not support them",
    schema: { type: "string" as const },
    example: "web_search_call",
  },
};

export const openAiErrorResponse = (description: string) =>
  jsonResponse(description, openAiErrorBody);

export const openAiErrors = {
  401: openAiErrorResponse("The token is missing or invalid"),
  403: openAiErrorResponse("The token is not allowed to do this"),
  404: openAiErrorResponse("The resource does not exist, or you do not have access to it"),
  422: jsonResponse("The request failed validation", openAiInvalid),
};

export const callErrors = {
  ...openAiErrors,
  409: openAiErrorResponse("The `Idempotency-Key` was already used with a different request"),
  502: openAiErrorResponse("The model failed. Retrying the same call is unlikely to help"),
  504: openAiErrorResponse("The model did not finish in time. The prediction was canceled"),
};

export const compatibleErrors = {
  ...callErrors,
  400: openAiErrorResponse(
    "The version does not support the call, or its container rejected the request",
  ),
};

/** A body of the convention, which OpenAI's documentation describes in full. */
export const body = (id: string, description: string) =>
  z.record(z.string(), json).meta({ id, description });

export const items = body("ResponseItems", "Items of a conversation in the format of OpenAI's API");

export const ITEM = {
  id: "msg_1",
  type: "message",
  status: "completed",
  role: "user",
  content: [{ type: "input_text", text: "Go on" }],
};

export const ITEMS = {
  object: "list",
  data: [ITEM],
  first_id: ITEM.id,
  last_id: ITEM.id,
  has_more: false,
};

type Example = Record<string, unknown>;

/**
 * A response with an example. The example is next to the schema: inside, its `id` would be read as the
 * schema's id.
 */
export const bodyResponse = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  example: Example,
) => ({ description, content: { "application/json": { schema, example } } });

/** A whole response, or a stream of its events. */
export const callResponse = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  example: Example,
  events: string,
  headers: typeof predictionHeaders = predictionHeaders,
) => ({
  description,
  headers,
  content: {
    "application/json": { schema, example },
    "text/event-stream": { schema: z.string(), example: events },
  },
});

/** A body of the convention. */
export function openAiJson(value: object) {
  const response = new Response(exactText(value), {
    headers: { "content-type": "application/json" },
  });
  return response as Response & TypedResponse<Record<string, Json>, 200, "json">;
}

export const openAiEvents = ({ body }: Pick<EventStream, "body">): Response =>
  new Response(body, {
    headers: {
      "content-type": EVENT_STREAM,
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
    },
  });

type Property = typeof FILE | typeof TEXT | typeof FILES;

/**
 * Documents the form as another media type besides JSON. It has no TypeScript type: the route sees only JSON.
 * @param properties those that every client sends
 */
export const formContent = (required: string[], properties: Record<string, Property>): object => ({
  "multipart/form-data": {
    schema: {
      type: "object",
      required,
      properties,
      additionalProperties: {
        ...TEXT,
        description: "Other fields of the JSON body, as text. Repeat a name to pass a list",
      },
    },
  },
});

/** A POST whose JSON body names the model and may have files as data URIs. */
export const callRoute = <
  const Path extends string,
  Body extends z.ZodType,
  Responses extends RouteConfig["responses"],
>(
  call: OpenAiCall,
  body: Body,
  route: {
    path: Path;
    operationId: string;
    summary: string;
    description: string;
    responses: Responses;
  },
) =>
  createRoute({
    ...route,
    method: "post",
    tags,
    middleware: [
      takesDataUris,
      requireScopeToRun(modelInBody),
      addPredictionHeaders,
      resolveTarget(call),
    ] as const,
    request: { headers: callHeaders, body: jsonBody(body) },
  });
