/** Counts requests by route and status, for the metrics of the deployment. */
import { waitUntil } from "cloudflare:workers";
import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import { matchedRoutes } from "hono/route";
import { countRequest } from "../services/metrics.ts";
import type { Services } from "../services/services.ts";

interface Counted {
  Variables: { services: Services };
}

export const countRequests = createMiddleware<Counted>(async (c, next) => {
  await next();
  countRequest(c.var.services, routeOf(c), c.res.status, waitUntil);
});

/** Returns the method and path of the route as it is declared: paths of requests would be without number. */
function routeOf(c: Context<Counted>): string {
  const route = matchedRoutes(c).findLast(({ path }) => !path.endsWith("*"));
  return route ? `${c.req.method} ${route.path}` : "none";
}
