/** What is made from the OpenAPI document, cached per isolate. */
import type { Context } from "hono";
import { LRUCache } from "lru-cache";
import type { AppEnv } from "../context.ts";
import type { ResourceShape } from "../protocol/user.ts";

/** A deployment has few origins: its own domain and the one at workers.dev. */
const MAX_ORIGINS = 8;

/**
 * Calls `make` once for each origin, with the resource shape that the deployment serves.
 * @param make what else it gets is the same as long as the isolate lives
 */
export function perOrigin<Value extends object | string, More extends unknown[] = []>(
  make: (shape: ResourceShape, origin: string, ...more: More) => Value,
) {
  const cache = new LRUCache<string, Value>({ max: MAX_ORIGINS });
  return (c: Context<AppEnv>, ...more: More): Value => {
    const shape = c.var.services.settings.resourceShape;
    const { origin } = new URL(c.req.url);
    const key = `${shape} ${origin}`;
    const value = cache.get(key) ?? make(shape, origin, ...more);
    cache.set(key, value);
    return value;
  };
}

/** The document and its pages change only with a deployment. */
export const DOCUMENT_CACHE = "public, max-age=300";
