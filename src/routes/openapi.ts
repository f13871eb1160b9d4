/** The OpenAPI document at /v1/openapi.json, which needs no token. */
import { $ } from "@hono/zod-openapi";
import type { Hono } from "hono";
import type { AppEnv } from "../context.ts";
import { conditionalGet } from "../middleware/conditional.ts";
import { createDocument, DOCUMENT_CACHE, perOrigin } from "../openapi/document.ts";

/** Describes the routes that `app` has when this is called: mount it after them. */
export function mountOpenapi(app: Hono<AppEnv>): void {
  const api = $(app);
  const json = perOrigin((shape, origin) => JSON.stringify(createDocument(api, shape, origin)));
  app.get("/v1/openapi.json", conditionalGet, (c) =>
    c.body(json(c), 200, { "content-type": "application/json", "cache-control": DOCUMENT_CACHE }),
  );
}
