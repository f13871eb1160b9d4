/** Conditional reads, and what may be kept of an answer: nothing, unless its route says so. */
import type { Context } from "hono";
import { etag, RETAINED_304_HEADERS } from "hono/etag";
import { createMiddleware } from "hono/factory";

/** What isolates remember is as old. */
const PUBLIC_SECONDS = 10;

const tag = etag({
  // A proxy that compresses what it passes on may keep a weak tag, and would have to drop a strong one.
  weak: true,
  retainedHeaders: [
    ...RETAINED_304_HEADERS,
    "access-control-allow-origin",
    "access-control-expose-headers",
    "x-request-id",
  ],
});

/**
 * For the GET of a resource or of a list: an `ETag`, and 304 to whoever has this answer already.
 * Only JSON: to tag an event stream would be to wait for its end.
 */
export const conditionalGet = createMiddleware(async (c, next) => {
  await next();
  if (c.res.headers.get("content-type")?.startsWith("application/json"))
    await tag(c, async () => {});
});

/**
 * Says of the answer under way that it is public and the same for everybody. Still it is kept
 * apart by token: a bad one is to get its 401, and one with private models its own search.
 */
export function markPublic(c: Context): void {
  c.header("cache-control", `public, max-age=${PUBLIC_SECONDS}`);
  c.header("vary", "authorization");
}

/** For all routes: an answer that does not say otherwise is kept nowhere, and an error never is. */
export const noStoreByDefault = createMiddleware(async (c, next) => {
  await next();
  if (c.res.status >= 400 || !c.res.headers.has("cache-control")) {
    c.header("cache-control", "no-store");
  }
});
