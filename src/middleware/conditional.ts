/** Conditional requests and caching: a response is not cacheable unless its route says so. */
import type { Context } from "hono";
import { etag, RETAINED_304_HEADERS } from "hono/etag";
import { createMiddleware } from "hono/factory";

/** How long public responses may be cached: as old as the caches of isolates get. */
const PUBLIC_SECONDS = 10;

const tag = etag({
  // A proxy that compresses responses keeps a weak tag, but must drop a strong one.
  weak: true,
  retainedHeaders: [
    ...RETAINED_304_HEADERS,
    "access-control-allow-origin",
    "access-control-expose-headers",
    "x-request-id",
  ],
});

/**
 * Adds an `ETag` to responses of GET, and answers 304 to a client that has the response already. Only for
 * JSON: tagging an event stream would mean waiting for its end.
 */
export const conditionalGet = createMiddleware(async (c, next) => {
  await next();
  if (c.res.headers.get("content-type")?.startsWith("application/json"))
    await tag(c, async () => {});
});

/**
 * Marks the response as public and the same for everyone. Caches still keep it apart by token: a bad
 * token must get its 401, and a token with private models its own search results.
 */
export function markPublic(c: Context): void {
  c.header("cache-control", `public, max-age=${PUBLIC_SECONDS}`);
  c.header("vary", "authorization, x-api-key");
}

/** Responses are `no-store` unless they say otherwise, and errors always are. */
export const isNotStored = ({ status, headers }: Response) =>
  status >= 400 || !headers.has("cache-control");

/** Makes all pages `no-store` unless they say otherwise. */
export const noStoreByDefault = createMiddleware(async (c, next) => {
  await next();
  if (isNotStored(c.res)) c.header("cache-control", "no-store");
});
