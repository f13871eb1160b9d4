/** What the routes of the vendora convention say of themselves alike. */
import { z } from "@hono/zod-openapi";
import type { TypedResponse } from "hono";
import { type Json, json } from "../../protocol/common.ts";
import { vendoraErrorBody, vendoraInvalid } from "../../protocol/vendora/error.ts";
import type { EventStream } from "../../services/predictions/event-stream.ts";
import { createHeaders } from "../predictions/create-document.ts";
import { jsonResponse } from "../responses.ts";

export const tags = ["Vendora"];

export const callHeaders = createHeaders.pick({ "idempotency-key": true });

export const predictionHeaders = {
  "auspex-prediction-id": {
    description: "The prediction that the call is: GET /predictions/{prediction_id} has it",
    schema: { type: "string" as const, format: "uuid" },
    example: "01980c3e-7b0a-7c5e-9d52-3f6a1b2c4d5e",
  },
};

export const responseHeaders = {
  ...predictionHeaders,
  "auspex-tools-left-out": {
    description: "Types of tools that the model was not given, for its container has none such",
    schema: { type: "string" as const },
    example: "web_search, image_generation",
  },
};

/** An error that a route explains in particular. */
export const vendoraErrorResponse = (description: string) =>
  jsonResponse(description, vendoraErrorBody);

/** The answers that every route may give beside its own. */
export const vendoraErrors = {
  401: vendoraErrorResponse("No token, or a bad one"),
  403: vendoraErrorResponse("The token may not do this"),
  404: vendoraErrorResponse("Not found, or not yours to see"),
  422: jsonResponse("The request is not valid", vendoraInvalid),
};

/** Those of a call that is waited for. */
export const callErrors = {
  ...vendoraErrors,
  409: vendoraErrorResponse("The `Idempotency-Key` was used for another request"),
  502: vendoraErrorResponse("The model has failed: the same call would fail again"),
  504: vendoraErrorResponse("It did not finish in time, and is canceled"),
};

/** A body of the convention: its own documentation tells all of it. */
export const body = (id: string, description: string) =>
  z.record(z.string(), json).meta({ id, description });

type Example = Record<string, unknown>;

/** Beside the schema: in it, its `id` would be taken for that of the schema. */
export const bodyResponse = <Schema extends z.ZodType>(
  description: string,
  schema: Schema,
  example: Example,
) => ({ description, content: { "application/json": { schema, example } } });

/** The answer of a call that is whole, or a stream of its events. */
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
export function vendoraJson(value: object) {
  const response: Response = Response.json(value);
  return response as Response & TypedResponse<Record<string, Json>, 200, "json">;
}

/** A stream of the convention. */
export const vendoraEvents = ({ body }: EventStream): Response =>
  new Response(body, {
    headers: {
      "content-type": "text/event-stream",
      "cache-control": "no-cache",
      "x-accel-buffering": "no",
    },
  });
