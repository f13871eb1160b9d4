/** A request as traces see it: its route, and the trace that its sender has begun. */
import type { Context } from "hono";
import { matchedRoutes } from "hono/route";
import type { TracedRequest } from "../domain/traces/trace.ts";
import { type Bindings, settings } from "../env.ts";

/** @returns undefined on a deployment without traces */
export function tracedRequest<Env extends { Bindings: Bindings }>(
  c: Context<Env>,
): { traced: TracedRequest } | undefined {
  if (!settings(c.env).traces) return undefined;
  return { traced: { route: routeOf(c), traceparent: c.req.header("traceparent") } };
}

/** Returns the method and the path of the route as it is declared: paths of requests would be without number. */
function routeOf<Env extends { Bindings: Bindings }>(c: Context<Env>): string {
  const route = matchedRoutes(c).findLast(({ path }) => !path.endsWith("*"));
  return `${c.req.method} ${route?.path ?? "/"}`;
}
