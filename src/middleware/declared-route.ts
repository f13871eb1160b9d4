/** The route of a request, for metrics and traces. */
import type { Context, Env } from "hono";
import { matchedRoutes } from "hono/route";

/** Returns the method and path of the route as they are declared: those of requests would be without number. */
export function declaredRoute<E extends Env>(c: Context<E>): string | undefined {
  const route = matchedRoutes(c).findLast(({ path }) => !path.endsWith("*"));
  return route && `${route.method} ${route.path}`;
}
