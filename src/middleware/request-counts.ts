/** Counts requests by route and status, for the metrics of the deployment. */
import { waitUntil } from "cloudflare:workers";
import { createMiddleware } from "hono/factory";
import { countRequest } from "../services/metrics.ts";
import type { Services } from "../services/services.ts";
import { declaredRoute } from "./declared-route.ts";

interface Counted {
  Variables: { services: Services };
}

export const countRequests = createMiddleware<Counted>(async (c, next) => {
  await next();
  countRequest(c.var.services, declaredRoute(c) ?? "none", c.res.status, waitUntil);
});
