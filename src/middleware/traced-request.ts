/** A request as traces see it: its route, and the trace that its sender has begun. */
import type { Context } from "hono";
import type { TracedRequest } from "../domain/predictions/trace.ts";
import { type Bindings, settings } from "../env.ts";
import { declaredRoute } from "./declared-route.ts";

/** @returns undefined on a deployment without traces */
export function tracedRequest<Env extends { Bindings: Bindings }>(
  c: Context<Env>,
): { traced: TracedRequest } | undefined {
  if (!settings(c.env).traces) return undefined;
  return {
    traced: { route: declaredRoute(c) ?? c.req.method, traceparent: c.req.header("traceparent") },
  };
}
