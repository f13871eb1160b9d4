/** What every route shares: the types of its context, and how a request is validated. */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context } from "hono";
import type { z } from "zod";
import { issuesOf, malformedJson, ValidationFailure } from "../domain/validation.ts";
import type { Bindings } from "../env.ts";
import { problem, validationError } from "../protocol/common.ts";
import type { Services } from "../services/services.ts";
import type { Caller, RunnerCaller } from "../services/tokens.ts";

export interface App {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    services: Services;
    caller: Caller;
    runner: RunnerCaller;
  };
}

const WHERE = {
  json: "body",
  form: "body",
  query: "query",
  param: "path",
  header: "header",
  cookie: "header",
} as const;

/** A group of documented routes; what does not fit their schemas is a 422. */
export const routes = () =>
  new OpenAPIHono<App>({
    defaultHook: (result) => {
      if (!result.success)
        throw new ValidationFailure(
          issuesOf(result.error, WHERE[result.target], "data" in result ? result.data : undefined),
        );
    },
  });

/** The body of an undocumented route. @throws ValidationFailure */
export async function bodyOf<Schema extends z.ZodType>(
  c: Context<App>,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const body: unknown = await c.req.json().catch(() => {
    throw malformedJson();
  });
  const result = schema.safeParse(body);
  if (!result.success) throw new ValidationFailure(issuesOf(result.error, "body", body));
  return result.data;
}

export const jsonBody = <Schema extends z.ZodType>(schema: Schema) => ({
  required: true,
  content: { "application/json": { schema } },
});

export const jsonAnswer = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { "application/json": { schema } },
});

const problemAnswer = (description: string) => ({
  description,
  content: { "application/problem+json": { schema: problem } },
});

/** The answers that every route may give beside its own. */
export const errorAnswers = {
  401: problemAnswer("No token, or a bad one"),
  403: problemAnswer("The token may not do this"),
  404: problemAnswer("Not found, or not yours to see"),
  422: jsonAnswer("The request is not valid", validationError),
};

export const conflictAnswer = { 409: problemAnswer("It conflicts with what is there") };
