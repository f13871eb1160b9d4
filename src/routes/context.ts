/** What every route shares: the types of its context, and how a request is validated. */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context, HonoRequest } from "hono";
import type { z } from "zod";
import type { Rate } from "../domain/accounts/rate-limit.ts";
import { malformedJson, ValidationFailure } from "../domain/schemas/validation.ts";
import { issuesOf } from "../domain/schemas/zod-issues.ts";
import type { Bindings } from "../env.ts";
import { problem, validationError } from "../protocol/common.ts";
import type { Caller, RunnerCaller } from "../services/accounts/caller.ts";
import type { PageRequest } from "../services/pagination.ts";
import type { ResolvedVersion } from "../services/predictions/version-resolution.ts";
import type { Services } from "../services/services.ts";

export interface App {
  Bindings: Bindings;
  Variables: {
    requestId: string;
    services: Services;
    caller: Caller;
    runner: RunnerCaller;
    operator: true | undefined;
    /** Gives back the room of the body: when it is handed on, and something else is waited for. */
    letBodyGo: (() => void) | undefined;
    /** What a call of vendora is for. */
    target: ResolvedVersion;
    /** The prediction that it has become. */
    predictionId: string | undefined;
    /** Of the limits that it counts against, the one that it has come nearest to. */
    rate: Rate | undefined;
    /** Types of tools that its model was not given. */
    toolsLeftOut: string[] | undefined;
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
  { req }: { req: HonoRequest },
  schema: Schema,
): Promise<z.infer<Schema>> {
  const body: unknown = await req.json().catch((error: unknown) => {
    throw error instanceof SyntaxError ? malformedJson(error) : error;
  });
  return checked(schema, body, "body");
}

/** What an undocumented route is given elsewhere. @throws ValidationFailure */
export function checked<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: "body" | "query",
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new ValidationFailure(issuesOf(result.error, where, value));
  return result.data;
}

/** What a list is asked for, from its validated query. */
export const pageRequest = (
  c: Context<App>,
  { cursor, page_size }: { cursor?: string | undefined; page_size: number },
): PageRequest => ({ cursor, size: page_size, url: c.req.url });

export const jsonBody = <Schema extends z.ZodType>(schema: Schema) => ({
  required: true,
  content: { "application/json": { schema } },
});

export const jsonAnswer = <Schema extends z.ZodType>(description: string, schema: Schema) => ({
  description,
  content: { "application/json": { schema } },
});

/** An error that a route explains in particular. */
export const problemAnswer = (description: string) => ({
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
