/** Response declarations that routes share. */
import type { TypedResponse } from "hono";
import type { z } from "zod";
import { exactText } from "../lib/exact-json.ts";
import { problem, validationError } from "../protocol/common.ts";

export const jsonBody = <Schema extends z.ZodType>(schema: Schema) => ({
  required: true,
  content: { "application/json": { schema } },
});

export const jsonResponse = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { "application/json": { schema } },
});

/** A body in which numbers keep their digits (lib/exact-json.ts). */
export function exactBody<Body extends object>(value: Body) {
  const response: Response = new Response(exactText(value), {
    headers: { "content-type": "application/json" },
  });
  return response as Response & TypedResponse<Body, 200, "json">;
}

/** An error with a description specific to its route. */
export const problemResponse = (description: string) => ({
  description,
  content: { "application/problem+json": { schema: problem } },
});

export const errorResponses = {
  401: problemResponse("The token is missing or invalid"),
  403: problemResponse("The token is not allowed to do this"),
  404: problemResponse("The resource does not exist, or you do not have access to it"),
  422: jsonResponse("The request failed validation", validationError),
};

export const conflictResponse = {
  409: problemResponse("The request conflicts with the current state"),
};
