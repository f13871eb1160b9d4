/** Response declarations that routes share. */
import type { z } from "zod";
import { problem, validationError } from "../protocol/common.ts";

export const jsonBody = <Schema extends z.ZodType>(schema: Schema) => ({
  required: true,
  content: { "application/json": { schema } },
});

export const jsonResponse = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { "application/json": { schema } },
});

/** An error with a description specific to its route. */
export const problemResponse = (description: string) => ({
  description,
  content: { "application/problem+json": { schema: problem } },
});

/** Errors that every route can return. */
export const errorResponses = {
  401: problemResponse("No token, or a bad one"),
  403: problemResponse("The token may not do this"),
  404: problemResponse("Not found, or not yours to see"),
  422: jsonResponse("The request is not valid", validationError),
};

export const conflictResponse = { 409: problemResponse("It conflicts with what is there") };
