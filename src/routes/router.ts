/** Routers of documented routes, and how a request is validated. A mismatch is a 422. */
import { OpenAPIHono } from "@hono/zod-openapi";
import type { Context, HonoRequest } from "hono";
import type { z } from "zod";
import type { AppEnv } from "../context.ts";
import { malformedJson, ValidationFailure } from "../domain/schemas/validation.ts";
import { zodIssues } from "../domain/schemas/zod-issues.ts";
import type { PageRequest } from "../services/pagination.ts";

const WHERE = {
  json: "body",
  form: "body",
  query: "query",
  param: "path",
  header: "header",
  cookie: "header",
} as const;

/**
 * A router whose requests are validated against the schemas of their routes.
 * @param options `getPath`: of the router that receives all requests
 */
export const router = (options: { getPath?: (request: Request) => string } = {}) =>
  new OpenAPIHono<AppEnv>({
    ...options,
    defaultHook: (result, c) => {
      if (result.success && result.target === "json") c.var.bodies?.push(result.data);
      if (!result.success)
        throw new ValidationFailure(
          zodIssues(result.error, WHERE[result.target], "data" in result ? result.data : undefined),
        );
    },
  });

/** The body of an undocumented route. @throws ValidationFailure */
export async function parseBody<Schema extends z.ZodType>(
  { req }: { req: HonoRequest },
  schema: Schema,
): Promise<z.infer<Schema>> {
  const body: unknown = await req.json().catch((error: unknown) => {
    throw error instanceof SyntaxError ? malformedJson(error) : error;
  });
  return parse(schema, body, "body");
}

/** Validates a value of an undocumented route. @throws ValidationFailure */
export function parse<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
  where: "body" | "query" | "header",
): z.infer<Schema> {
  const result = schema.safeParse(value);
  if (!result.success) throw new ValidationFailure(zodIssues(result.error, where, value));
  return result.data;
}

export const pageRequest = (
  c: Context<AppEnv>,
  { cursor, page_size }: { cursor?: string | undefined; page_size: number },
): PageRequest => ({ cursor, size: page_size, url: c.req.url });
